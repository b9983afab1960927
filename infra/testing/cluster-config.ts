/**
 * Lines for the settings of a nats-server that make it part of a cluster; they replace equal ones before them.
 * @param routes the ports on which the servers of the cluster find each other
 * @param index which of them the server is
 */
export function clusterConfig(routes: readonly number[], index: number): string {
  return `
server_name: footfall-${index}
cluster {
  name: footfall
  listen: "127.0.0.1:${routes[index]}"
  routes: [${routes.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')}]
}
`;
}
