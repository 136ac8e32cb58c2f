// Solves a min-cost-flow problem in the DIMACS format from standard input by a solver of
// the LEMON library: "simplex" or "scaling", the first argument. It prints the cost and
// the seconds of CPU time that the solver took.
#include <ctime>
#include <iostream>
#include <string>

#include <lemon/cost_scaling.h>
#include <lemon/dimacs.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

using namespace lemon;

struct Problem {
  SmartDigraph g;
  SmartDigraph::ArcMap<long long> low{g}, cap{g}, cost{g};
  SmartDigraph::NodeMap<long long> supply{g};
};

template <typename Solver>
void solve(Problem& p) {
  Solver solver(p.g);
  solver.lowerMap(p.low).upperMap(p.cap).costMap(p.cost).supplyMap(p.supply);
  std::clock_t began = std::clock();
  auto found = solver.run();
  double took = double(std::clock() - began) / CLOCKS_PER_SEC;
  if (found != solver.OPTIMAL) {
    std::cout << "none " << took << "\n";
    return;
  }
  std::cout << solver.template totalCost<long long>() << " " << took << "\n";
}

int main(int, char** argv) {
  Problem p;
  readDimacsMin(std::cin, p.g, p.low, p.cap, p.cost, p.supply);
  if (std::string(argv[1]) == "scaling") {
    solve<CostScaling<SmartDigraph, long long, long long>>(p);
  } else {
    solve<NetworkSimplex<SmartDigraph, long long, long long>>(p);
  }
}
