/**
 * Lines for the settings of a nats-server in a cluster; they replace equal ones before them.
 * @param routes the ports on which the servers of the cluster find each other
 * @param index the server's place among them
 * @param hosts the address of each server; by default all are on loopback
 */
export function clusterConfig(
  routes: readonly number[],
  index: number,
  hosts: readonly string[] = routes.map(() => '127.0.0.1'),
): string {
  return `
server_name: footfall-${index}
cluster {
  name: footfall
  listen: "${hosts[index]}:${routes[index]}"
  routes: [${routes.map((port, at) => `"nats://${hosts[at]}:${port}"`).join(', ')}]
}
`;
}
