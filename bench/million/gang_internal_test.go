package main

import "testing"

// BenchmarkGang measures the row of gangs: gang of 100 claims alike, placed and released on
// 5,000 machines that are half full.
func BenchmarkGang(b *testing.B) {
	const machines = 5000
	mixture := mixed(machines * steadyTasks)
	half := setting{capacityAt(mixture, machines, 0.5), machines, len(mixture) + gangWidth}
	for name, open := range map[string]func(setting) (placer, error){"impl=cell": openCell, "impl=mutex": openLock} {
		b.Run(name, func(b *testing.B) {
			p, err := open(half)
			if err != nil {
				b.Fatal(err)
			}
			round := ganging(p, mixture)
			for b.Loop() {
				if !round() {
					b.Fatal(errRound)
				}
			}
		})
	}
}
