// The part of autocannon's interface that is used here; the package has no types.
declare module 'autocannon' {
  interface Request {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }
  interface LoadClient {
    setRequests(requests: readonly Request[]): void;
    on(event: 'response', listener: (status: number, bytes: number, timeMs: number) => void): void;
  }
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly pipelining: number;
    readonly duration: number;
    readonly requests: readonly Request[];
    readonly setupClient: (client: LoadClient) => void;
  }
  interface Result {
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    readonly timeouts: number;
    /** Seconds. */
    readonly duration: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
