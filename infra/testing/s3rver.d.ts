// The part of s3rver, a Koa application without types, that s3-server.ts uses.
declare module 's3rver' {
  import type { IncomingMessage, Server } from 'node:http';
  import type { AddressInfo } from 'node:net';
  import type { Readable } from 'node:stream';

  export interface Context {
    /** The stream from which the body is read. */
    req: IncomingMessage | Readable;
    readonly request: { readonly req: IncomingMessage };
    status: number;
    type: string;
    body: unknown;
  }

  export interface StoredObject {
    readonly bucket: string;
    readonly key: string;
    readonly content: Readable;
    readonly metadata: Readonly<Record<string, string>>;
  }

  export interface ObjectFolder {
    getBucket(bucket: string): Promise<object | null>;
    getResourcePath(bucket: string, key: string, resource: 'object'): string;
    putMetadata(bucket: string, key: string, metadata: StoredObject['metadata'], md5: string): Promise<void>;
    putObject(object: StoredObject): Promise<{ size: number; md5: string }>;
    putPart(
      bucket: string,
      uploadId: string,
      partNumber: string,
      content: Readable,
    ): Promise<{ size: number; md5: string }>;
  }

  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly directory: string;
      readonly serviceEndpoint: string;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly store: ObjectFolder;
    readonly httpServer: Server;
    readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
}
