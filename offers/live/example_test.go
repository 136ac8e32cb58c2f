package live_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A framework runs three tasks, one after the other, on whatever it is offered,
// and then ends the program.
func Example() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}})
	master, _ := offers.New(cell, offers.Config{}, time.Now())
	done := errors.New("three tasks have ended")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)

	left := 3
	err := live.Run(ctx, master, live.Config{}, live.Member{
		Registration: offers.Registration{Name: "batch"},
		Handle: func(_ context.Context, f *offers.Framework, news offers.News) error {
			if len(news.Offers) == 0 {
				return nil
			}
			o := news.Offers[0]
			tasks, err := f.Accept(time.Now(), offers.Launch{
				Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: o.Room}},
			})
			if err != nil {
				return err
			}
			fmt.Println("a task of", o.Room[0])
			if left--; left == 0 {
				cancel(done)
				return nil
			}
			return f.Release(time.Now(), tasks...) // and the room is offered again
		},
	})
	fmt.Println(err)
	// Output:
	// a task of 4
	// a task of 4
	// a task of 4
	// three tasks have ended
}
