package viewtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// limit is the longest time of one test: a browser that hangs is killed then.
const limit = time.Minute

// browser starts a headless Chromium, and returns the context of its first tab. Its files are
// in a folder of its own, which is removed after it.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium: CI does not skip the page")
		}
		t.Skip("no Chromium in PATH")
	}
	files, err := os.MkdirTemp("", "cellsched-view") //nolint:usetesting // T.TempDir fails where a process of the browser still writes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(files) })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1440, 1100),
		chromedp.UserDataDir(filepath.Join(files, "profile")), chromedp.Env("TMPDIR="+files))
	ctx, end := context.WithTimeoutCause(t.Context(), limit, fmt.Errorf("the browser took longer than %v", limit))
	t.Cleanup(end)
	allocated, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	return tab(allocated, t)
}

// tab opens a tab.
func tab(parent context.Context, t *testing.T) context.Context {
	t.Helper()
	ctx, stop := chromedp.NewContext(parent)
	t.Cleanup(stop)
	check(ctx, t, chromedp.Do(ctx))
	return ctx
}

// check ends the test where err is not nil, and says where the limit is the cause.
func check(ctx context.Context, t *testing.T, err error) {
	t.Helper()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	require.NoError(t, err)
}

// run runs actions, which together take half a minute at most.
func run(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	check(ctx, t, chromedp.Do(ctx, actions...))
}

// get runs an action and returns its result.
func get[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	v, err := chromedp.Run(ctx, a)
	check(ctx, t, err)
	return v
}

// until waits until an expression is true in the page. It needs no eval, which the page
// forbids.
func until(expression string) chromedp.Action[chromedp.Void] {
	promise := chromedp.Evaluate[bool](`new Promise((done) => {
		const look = () => { if (`+expression+`) done(true); else setTimeout(look, 20); };
		look();
	})`, chromedp.EvalAwaitPromise)
	return chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		if _, err := promise(ctx, at); err != nil {
			return fmt.Errorf("until %s: %w", expression, err)
		}
		return nil
	})
}

func text(ctx context.Context, t *testing.T, selector string) string {
	t.Helper()
	return get(ctx, t, chromedp.Text(chromedp.CSS(selector)))
}

const live = `document.querySelector("#status").dataset.state === "live" && map.dataset.machines > 0 && overview !== null`

func TestPage_ShowsTheCellAndItsPools(t *testing.T) {
	w := newWorld(t, 200)
	w.take(t, 7, "search", resources.Vector{16_000, 8 << 30})
	w.hold(t, "web", resources.Vector{6000, 4 << 30})
	w.hold(t, markup, resources.Vector{1000, 4 << 30})
	w.wait(t, "etl", "nightly", resources.Vector{4000, 1 << 30})
	page := browser(t)
	run(page, t, chromedp.Navigate(w.url), until(live), until(`document.querySelector("table.waiters") !== null`))

	require.Contains(t, text(page, t, "#totals"), "200")
	require.Contains(t, text(page, t, "table.tenants"), "web")
	require.Contains(t, text(page, t, "table.tenants"), markup, "a name is a text")
	waiting := text(page, t, "table.waiters")
	require.Contains(t, waiting, "nightly")
	require.Contains(t, waiting, "short of cpu")
	require.Contains(t, text(page, t, "#accounts"), "search")
	require.Regexp(t, `batch\s+1\s+1\s+0`, text(page, t, "#engines"))
	require.Regexp(t, `mesos.*rescinded 3.*7`, text(page, t, "#engines"), "refusals by reason, and offers outstanding")
	require.Equal(t, "cell", get(page, t, chromedp.Title()), "no name is run")
	require.Equal(t, 1, get(page, t, chromedp.Evaluate[int](`document.scripts.length`)))

	// A refusal appears as it comes.
	_, ok := w.pool.TryAcquire("web", resources.Vector{8000, 0})
	require.False(t, ok)
	run(page, t, until(`document.querySelector("#decisions li") !== null`))
	require.Contains(t, text(page, t, "#decisions ol"), "web")
	if file := os.Getenv("VIEW_PICTURE"); file != "" {
		picture(page, t, file)
	}
}

func picture(page context.Context, t *testing.T, file string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, get(page, t, chromedp.CaptureScreenshot()), 0o600))
}

func TestPage_FollowsTheCell(t *testing.T) {
	w := newWorld(t, 100)
	page := browser(t)
	run(page, t, chromedp.Navigate(w.url), until(live), until(`states[42] === NONE`))
	w.take(t, 42, "search", resources.Vector{32_000, 0})
	run(page, t, until(`states[42] === FULL && states[41] === NONE`))
	for i := range 30 { // the cell grows
		_, err := w.cell.Add(omega.Machine{Name: fmt.Sprintf("new%d", i), Capacity: resources.Vector{1000, 1}})
		require.NoError(t, err)
	}
	run(page, t, until(`states.length === 130`))
	m, ok := w.cell.Machine("rack000-m03")
	require.True(t, ok)
	require.NoError(t, w.cell.Drain(m))
	run(page, t, until(`states[3] === DRAINING`))
	_, err := w.cell.Remove(m)
	require.NoError(t, err)
	run(page, t, until(`states[3] === ABSENT`))
}

func TestPage_ShowsTheAllocationsOfAMachineThatIsClicked(t *testing.T) {
	w := newWorld(t, 60)
	w.take(t, 0, "search", resources.Vector{8000, 1 << 30})
	w.take(t, 1, "search", resources.Vector{8000, 1 << 30})
	w.take(t, 1, markup[:40], resources.Vector{4000, 2 << 30})
	page := browser(t)
	run(page, t, chromedp.Navigate(w.url), until(live))
	box := get(page, t, chromedp.Evaluate[struct{ Left, Top, Size float64 }](
		`(() => { draw(); const b = map.getBoundingClientRect(); return {Left: b.left, Top: b.top, Size: grid.size} })()`))
	run(page, t, chromedp.MouseClickXY(box.Left+1.5*box.Size, box.Top+0.5*box.Size), until(`!document.querySelector("#machine").hidden`))
	panel := text(page, t, "#machine")
	require.Contains(t, panel, "rack000-m01")
	require.Contains(t, panel, "2 allocations")
	require.Contains(t, panel, markup[:40])

	// The same by keys: the machine to the left, then nothing, then colours.
	run(page, t, chromedp.Focus(chromedp.CSS("#map")), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.Enter),
		until(`document.querySelector("#machine").textContent.includes("rack000-m00")`),
		chromedp.KeyEvent(kb.Escape), until(`document.querySelector("#machine").hidden`),
		chromedp.KeyEvent("4"), until(`by === "owner" && owners.includes("search") && states[0] === NONE + 1 && states[5] === NONE`))
}

// Keys alone choose a machine and a colour. The focus stays where it was.
func TestPage_IsUsedByKeys(t *testing.T) {
	w := newWorld(t, 200)
	w.take(t, 1, "search", resources.Vector{16_000, 8 << 30})
	page := browser(t)
	press := func(key string) {
		t.Helper()
		get(page, t, chromedp.Evaluate[bool](`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "`+key+`", bubbles: true, cancelable: true})); true`))
	}
	run(page, t, chromedp.Navigate(w.url), until(live), until(`states[1] !== NONE`))
	get(page, t, chromedp.Evaluate[bool](`map.focus(); true`))
	press("Home")
	press("ArrowRight")
	require.Equal(t, "Machine 1: 50 % allocated", text(page, t, "#under"))
	press("4")
	run(page, t, until(`document.querySelector("#under").textContent === "Machine 1: mostly search"`))
	press("Enter")
	run(page, t, until(`!document.querySelector("#machine").hidden`))
	require.Contains(t, text(page, t, "#machine"), "search")
	press("Escape")
	run(page, t, until(`document.querySelector("#machine").hidden`))

	get(page, t, chromedp.Evaluate[bool](`document.querySelector("#colours button").focus(); document.activeElement.click(); true`))
	require.Equal(t, "dominant share", get(page, t, chromedp.Evaluate[string](`document.activeElement.textContent`)))
}

// The page follows the scheme that the viewer prefers, also while it is shown: the map with it.
// Texts stand out from their ground in both.
func TestPage_IsLightAndDark(t *testing.T) {
	w := newWorld(t, 100)
	w.take(t, 1, "search", resources.Vector{32_000, 0})
	page := browser(t)
	prefer := func(scheme string) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return err
		})
	}
	// The luminance of a colour, and the contrast of two, by the rules of WCAG 2.
	const measures = `((f) => f((text) => {
		const [r, g, b] = text.match(/[\d.]+/g).map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	}))`
	ground := func() float64 {
		return get(page, t, chromedp.Evaluate[float64](measures+`((l) => l(getComputedStyle(document.querySelector("section")).backgroundColor))`))
	}
	contrast := func() float64 {
		return get(page, t, chromedp.Evaluate[float64](measures+`((l) => Math.min(...["#under", "#totals dd", "th"].map((name) => {
			const e = document.querySelector(name), a = l(getComputedStyle(e).color);
			const b = l(getComputedStyle(e.closest("section, header")).backgroundColor);
			return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		})))`))
	}
	free := func() float64 { // a machine with nothing on it, in the map
		return get(page, t, chromedp.Evaluate[float64](`((d) => d[0] + d[1] + d[2])(small.getContext("2d").getImageData(0, 0, 1, 1).data)`))
	}
	run(page, t, prefer("light"), chromedp.Navigate(w.url), until(live), until(`states[1] === FULL`))
	require.Greater(t, ground(), 0.8)
	require.Greater(t, contrast(), 4.5)
	light := free()
	run(page, t, prefer("dark"), until(`getComputedStyle(document.documentElement).getPropertyValue("--low").trim() === "33 41 52"`))
	require.Less(t, ground(), 0.05)
	require.Greater(t, contrast(), 4.5)
	run(page, t, until(`small.getContext("2d").getImageData(0, 0, 1, 1).data[0] < 100`))
	require.Less(t, free(), light/2)
}

// No owner has nearly the colour of a machine that drains.
func TestPage_TellsOwnersFromDrainingMachines(t *testing.T) {
	w := newWorld(t, 1)
	page := browser(t)
	run(page, t, chromedp.Navigate(w.url), until(live))
	nearest := get(page, t, chromedp.Evaluate[float64](`Math.min(...Array.from({length: 80}, (_, i) =>
		Math.hypot(...ownerColour(i + 1).map((x, k) => x - rgb("--drain")[k]))))`))
	require.Greater(t, nearest, 40.0)
}

func TestPage_ComesBackWhenTheServerWasAway(t *testing.T) {
	w := newWorld(t, 50)
	page := browser(t)
	run(page, t, chromedp.Navigate(w.url), until(live))
	w.server.CloseClientConnections()
	run(page, t, until(`document.querySelector("#status").dataset.state === "off"`))
	w.take(t, 9, "search", resources.Vector{32_000, 0})
	run(page, t, until(live), until(`states[9] === FULL`))
}

func TestPage_ServesTwoViewers(t *testing.T) {
	w := newWorld(t, 50)
	first := browser(t)
	run(first, t, chromedp.Navigate(w.url), until(live))
	second := tab(first, t)
	run(second, t, chromedp.Navigate(w.url), until(live), until(`overview.viewers === 2`))
	w.take(t, 9, "search", resources.Vector{32_000, 0})
	run(second, t, until(`states[9] === FULL`))
	run(first, t, until(`states[9] === FULL`))
}

func TestPage_DrawsFiftyThousandMachines(t *testing.T) {
	w := newWorld(t, 50_000)
	for node := 0; node < 50_000; node += 100 {
		w.take(t, node, "search", resources.Vector{32_000, 0})
	}
	page := browser(t)
	run(page, t, chromedp.Navigate(w.url), until(live), until(`states.length === 50000 && states[49900] === FULL && states[49901] === NONE`))
	drawn := get(page, t, chromedp.Evaluate[struct {
		Fits       bool
		Same, Next []float64
	}](`(() => { draw();
		const at = (n) => Array.from(small.getContext("2d").getImageData(n % grid.cols, Math.floor(n / grid.cols), 1, 1).data);
		return {Fits: grid.cols * grid.rows >= 50000 && map.height > 0, Same: at(49900), Next: at(49901)} })()`))
	require.True(t, drawn.Fits)
	require.NotEqual(t, drawn.Same, drawn.Next)
	w.take(t, 49_901, "search", resources.Vector{32_000, 0})
	run(page, t, until(`states[49901] === FULL`))
}

// Picture makes the picture of the README from any page: VIEW_URL says which.
func TestPicture(t *testing.T) {
	url, file := os.Getenv("VIEW_URL"), os.Getenv("VIEW_PICTURE")
	if url == "" || file == "" {
		t.Skip("VIEW_URL and VIEW_PICTURE are not set")
	}
	page := browser(t)
	run(page, t, chromedp.Navigate(url), until(live))
	if samples := os.Getenv("VIEW_SAMPLES"); samples != "" {
		run(page, t, until(`[...history.values()].some((h) => h.share.length >= `+samples+`)`))
	}
	if script := os.Getenv("VIEW_SCRIPT"); script != "" {
		get(page, t, chromedp.Evaluate[bool](script+`; true`))
		run(page, t, until(`!queued && (open < 0 || !document.querySelector("#machine").hidden)`))
	}
	picture(page, t, file)
}
