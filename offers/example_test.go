package offers_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Two frameworks share two machines. What one leaves over of an offer, or does
// not want, the other is offered at once.
func Example() {
	space, _ := resources.NewSpace(resources.CPU(), resources.Memory())
	amount := func(s string) resources.Vector { v, _ := space.Parse(s); return v }
	cell, _ := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{
		{Name: "m0", Capacity: amount("cpu=4,memory=8Gi")},
		{Name: "m1", Capacity: amount("cpu=4,memory=8Gi")},
	}})
	now := time.Unix(0, 0)
	master, _ := offers.New(cell, offers.Config{}, now)
	show := func(f *offers.Framework) []offers.Offer {
		news, _ := f.News(now)
		for _, o := range news.Offers {
			m, _ := cell.State(o.Machine)
			fmt.Printf("%s is offered %s of %s\n", f.Name(), space.Format(o.Room), m.Name)
		}
		return news.Offers
	}
	spark, _ := master.Register(now, offers.Registration{Name: "spark"})
	got := show(spark)
	hadoop, _ := master.Register(now, offers.Registration{Name: "hadoop"})
	task := offers.Task{Need: amount("cpu=1,memory=2Gi")}
	_, err := spark.Accept(now, offers.Launch{Offers: []offers.OfferID{got[0].ID}, Tasks: []offers.Task{task, task}})
	fmt.Println("spark starts two tasks:", err)
	show(hadoop)
	err = spark.Decline(now, offers.For(time.Minute), got[1].ID)
	fmt.Println("spark declines:", err)
	show(hadoop)
	// Output:
	// spark is offered cpu=4,memory=8Gi of m0
	// spark is offered cpu=4,memory=8Gi of m1
	// spark starts two tasks: <nil>
	// hadoop is offered cpu=2,memory=4Gi of m0
	// spark declines: <nil>
	// hadoop is offered cpu=4,memory=8Gi of m1
}

// An offer lasts for 30 s unless the master is told otherwise. An answer that
// comes then is too late, and says so.
func ExampleFramework_Accept() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}})
	now := time.Unix(0, 0)
	master, _ := offers.New(cell, offers.Config{}, now)
	f, _ := master.Register(now, offers.Registration{Name: "slow"})
	news, _ := f.News(now)

	launch := offers.Launch{
		Offers: []offers.OfferID{news.Offers[0].ID},
		Tasks:  []offers.Task{{Need: resources.Vector{1}}},
	}
	_, err := f.Accept(now.Add(30*time.Second), launch)
	fmt.Println(errors.Is(err, offers.ErrExpired), err)
	// Output:
	// true offers: framework "slow": offer 0.1: has expired
}

// A framework names in advance the machines that it cannot use, and declines nothing.
func ExampleMaster_Register() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "small", Capacity: resources.Vector{2}},
		{Name: "large", Capacity: resources.Vector{16}},
		{Name: "gpu", Capacity: resources.Vector{16}, Attributes: map[string]string{"gpu": "a100"}},
	}})
	now := time.Unix(0, 0)
	master, _ := offers.New(cell, offers.Config{}, now)
	f, _ := master.Register(now, offers.Registration{
		Name:    "training",
		Minimum: resources.Vector{8},
		Labels:  map[string][]string{"gpu": {"a100", "h100"}},
	})
	news, _ := f.News(now)
	for _, o := range news.Offers {
		m, _ := cell.State(o.Machine)
		fmt.Println(m.Name, o.Room[0])
	}
	// Output:
	// gpu 16
}

// Constraints can be any predicates over the attributes of machines. These may change:
// the master looks again in each step.
func ExampleRegistration_constraints() {
	var attributes locality.Attributes
	cell, _ := omega.NewCell(omega.Config{})
	for _, cores := range []int64{8, 32, 64} {
		id, _ := cell.Add(omega.Machine{Name: fmt.Sprint(cores, " cores"), Capacity: resources.Vector{cores}})
		_ = attributes.Describe(id.Node(), map[string]locality.Value{
			"cores": locality.Number(cores), "kernel": locality.Text("6.1"),
		})
	}
	many, _ := attributes.Register(locality.Greater("cores", 16))
	old, _ := attributes.Register(locality.Equal("kernel", locality.Text("6.1")).Not())
	constraints, _ := attributes.Require(many, old)

	now := time.Unix(0, 0)
	master, _ := offers.New(cell, offers.Config{}, now)
	f, _ := master.Register(now, offers.Registration{Name: "analytics", Constraints: constraints})
	show := func() {
		news, _ := f.News(now)
		fmt.Println(len(news.Offers), "offers")
		for _, o := range news.Offers {
			m, _ := cell.State(o.Machine)
			fmt.Println(m.Name)
		}
	}
	show()
	_ = attributes.Set(2, "kernel", locality.Text("6.12"))
	_ = master.Step(now)
	show()
	// Output:
	// 0 offers
	// 1 offers
	// 64 cores
}

// A new master finds the running tasks in the cell. Frameworks register again, and are
// offered the room that the old one had offered.
func ExampleNew_takeover() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "m0", Capacity: resources.Vector{4}}, {Name: "m1", Capacity: resources.Vector{4}},
	}})
	now := time.Unix(0, 0)
	old, _ := offers.New(cell, offers.Config{}, now)
	f, _ := old.Register(now, offers.Registration{Name: "web"})
	news, _ := f.News(now)
	_, _ = f.Accept(now, offers.Launch{
		Offers: []offers.OfferID{news.Offers[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{4}}},
	})

	master, _ := offers.New(cell, offers.Config{}, now)
	fmt.Println("old:", errors.Is(old.Step(now), offers.ErrFenced))
	f, _ = master.Register(now, offers.Registration{Name: "web"})
	for task := range f.Tasks() {
		fmt.Println("runs on node", task.Machine)
	}
	news, _ = f.News(now)
	fmt.Println("offered: node", news.Offers[0].Machine)
	// Output:
	// old: true
	// runs on node 0
	// offered: node 1
}

// A job that cannot start with less than two whole machines asks for both at once. It is
// guaranteed them. So a framework that has more than its guarantee is told to leave, and
// is preempted if it does not.
func ExampleFramework_Request() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "m0", Capacity: resources.Vector{4}}, {Name: "m1", Capacity: resources.Vector{4}},
	}})
	now := time.Unix(0, 0)
	master, _ := offers.New(cell, offers.Config{Grace: offers.For(10 * time.Second)}, now)
	batch, _ := master.Register(now, offers.Registration{Name: "batch"})
	news, _ := batch.News(now)
	_, _ = batch.Accept(now, offers.Launch{
		Offers: []offers.OfferID{news.Offers[1].ID}, Tasks: []offers.Task{{Need: resources.Vector{4}}},
	})

	mpi, _ := master.Register(now, offers.Registration{Name: "mpi", Guaranteed: resources.Vector{8}})
	_, _ = mpi.Request(now, offers.Request{Machines: 2, Each: resources.Vector{4}, Revoke: true})
	news, _ = batch.News(now)
	fmt.Println("batch loses an offer,", news.Ended[0].Reason)
	fmt.Println("and a task within", news.Revoked[0].Until.Sub(now))
	now = now.Add(10 * time.Second)
	_ = master.Step(now)
	news, _ = mpi.News(now)
	fmt.Println("mpi is offered", len(news.Answers[0].Offers), "machines")
	// Output:
	// batch loses an offer, offers: offer was rescinded
	// and a task within 10s
	// mpi is offered 2 machines
}

// Two masters on one cell: one keeps what it offers, and has three quarters of each
// machine; the other one shows every framework what is left.
func ExampleTerms() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{8}}}})
	now := time.Unix(0, 0)
	careful, _ := offers.New(cell, offers.Config{Name: "careful", Terms: offers.Terms{Percent: 75}}, now)
	web, _ := careful.Register(now, offers.Registration{Name: "web"})
	news, _ := web.News(now)
	fmt.Println("web is offered", news.Offers[0].Room[0])

	free, _ := offers.New(cell, offers.Config{Name: "free", Terms: offers.Terms{Optimistic: true}}, now)
	task := []offers.Task{{Need: resources.Vector{2}}}
	var launches []offers.Launch
	var batch []*offers.Framework
	for _, name := range []string{"batch 1", "batch 2"} {
		f, _ := free.Register(now, offers.Registration{Name: name})
		news, _ := f.News(now)
		fmt.Println(name, "is offered", news.Offers[0].Room[0])
		batch = append(batch, f)
		launches = append(launches, offers.Launch{Offers: []offers.OfferID{news.Offers[0].ID}, Tasks: task})
	}
	for i, f := range batch {
		_, err := f.Accept(now, launches[i])
		fmt.Println(f.Name(), "conflicts:", errors.Is(err, omega.ErrConflict))
	}
	// Output:
	// web is offered 6
	// batch 1 is offered 2
	// batch 2 is offered 2
	// batch 1 conflicts: false
	// batch 2 conflicts: true
}

// Two schedulers that know nothing of each other have the cell to themselves in
// turn.
func ExampleTimeBox() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{8}}}})
	now := time.Unix(0, 0)
	a, _ := cell.Register("a", omega.Limits{})
	b, _ := cell.Register("b", omega.Limits{})
	box, _ := offers.NewTimeBox(now, 10*time.Second, nil, a, b)
	for range 3 {
		holder, until := box.Step(now)
		fmt.Println(holder.Name(), "until", until.Sub(time.Unix(0, 0)))
		now = until
	}
	// Output:
	// a until 10s
	// b until 20s
	// a until 30s
}
