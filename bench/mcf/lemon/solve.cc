// Solves a min-cost-flow problem in the DIMACS format from standard input by the
// network simplex of the LEMON library, and prints the cost and the seconds of CPU
// time that it took.
#include <ctime>
#include <iostream>

#include <lemon/dimacs.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

int main() {
  using namespace lemon;
  SmartDigraph g;
  SmartDigraph::ArcMap<long long> low(g), cap(g), cost(g);
  SmartDigraph::NodeMap<long long> supply(g);
  readDimacsMin(std::cin, g, low, cap, cost, supply);
  NetworkSimplex<SmartDigraph, long long, long long> solver(g);
  solver.lowerMap(low).upperMap(cap).costMap(cost).supplyMap(supply);
  std::clock_t began = std::clock();
  auto found = solver.run();
  double took = double(std::clock() - began) / CLOCKS_PER_SEC;
  if (found != solver.OPTIMAL) {
    std::cout << "none " << took << "\n";
    return 0;
  }
  std::cout << solver.totalCost<long long>() << " " << took << "\n";
}
