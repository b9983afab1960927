export interface BusSettings {
  readonly port: number;
  readonly storeDir: string;
  /** Undefined: no login is required. */
  readonly login: { readonly user: string; readonly password: string } | undefined;
  readonly fileBytesMax: number;
}

// nats-server rejects a stream whose limit does not fit into `max_file_store`. Small streams are the key-value buckets and dead
// letters.
const OTHER_STREAMS_BYTES = 8 * 1024 ** 3;

/** The room of the bus: `bytesMax` (`BUS_BYTES_MAX`) for events, the same for entity updates, and small streams. */
export function busFileBytesMax(bytesMax: number): number {
  return 2 * bytesMax + OTHER_STREAMS_BYTES;
}

/**
 * The config file of nats-server: loopback only, no monitoring port. With `sync_interval: always` an acknowledged
 * message is on disk; with the default, a power failure can lose the last two minutes.
 */
export function natsConfig({ port, storeDir, login, fileBytesMax }: BusSettings): string {
  return [
    '# Written at every start; changes are lost.',
    'server_name: footfall',
    `listen: "127.0.0.1:${port}"`,
    'max_payload: 8MB',
    'jetstream {',
    `  store_dir: ${JSON.stringify(storeDir)}`,
    '  max_memory_store: 256MB',
    `  max_file_store: ${fileBytesMax}`,
    '  sync_interval: always',
    '}',
    ...(login === undefined ? [] : [authorization(login)]),
    '',
  ].join('\n');
}

function authorization({ user, password }: { readonly user: string; readonly password: string }) {
  return `authorization { user: ${JSON.stringify(user)}, password: ${JSON.stringify(password)} }`;
}
