import { createRequire } from 'node:module';

/** An open connection, as the addon hands it out. */
export type NativeConnection = { readonly nativeConnection: never };

export interface NativeResult {
  readonly bytes: Buffer;
  /** Seconds. */
  readonly elapsed: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
}

export interface NativeWrite {
  readonly elapsed: number;
  readonly rowsWritten: number;
  readonly bytesWritten: number;
}

/** What we use of chDB's addon. The calls that return a promise run on libuv's threads, one thread each. */
export interface Native {
  CreateConnection(path: string, args: readonly string[]): NativeConnection;
  CloseConnection(connection: NativeConnection): void;
  QueryAsyncConnection(connection: NativeConnection, sql: string, format: string): Promise<NativeResult>;
  InsertRawAsyncConnection(
    connection: NativeConnection,
    prefix: string,
    rest: Buffer,
    countLines: boolean,
  ): Promise<NativeWrite>;
}

/**
 * The addon itself, found by chDB's own loader. chDB's `Session` is not enough: it defers every close until no call of
 * the whole process runs, so that one long query would keep all closed connections alive, and it reports no written
 * rows for inserts from a file.
 */
export function loadNative(): Native {
  const require = createRequire(import.meta.url);
  const requireFromChdb = createRequire(require.resolve('chdb/package.json'));
  return (requireFromChdb('./dist/loader.js') as { loadNative(): Native }).loadNative();
}
