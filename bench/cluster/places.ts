/** The locations of a cluster's processes, and their ways to reach each other. */
export interface Places {
  /** The address on which a process listens. */
  addressOf(name: string): string;
  /** The command that runs a program where the process of this name lives. */
  inside(name: string, command: string, args: readonly string[]): readonly [string, readonly string[]];
}

/** All on this machine's loopback. */
export const LOOPBACK: Places = {
  addressOf: () => '127.0.0.1',
  inside: (_name, command, args) => [command, args],
};
