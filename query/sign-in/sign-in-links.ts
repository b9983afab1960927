import {
  LINK_BUCKET,
  LINK_PREFIX,
  linkKeyOf,
  linkSchema,
  type SignInLink,
} from '../../infra/accounts/sign-in-links.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';

export interface LinksOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
}

/** One-time links: the request that removes the record of a link is signed in, and only one can. */
export class SignInLinks {
  readonly #options: LinksOptions;
  readonly #bucket: KeyedBytes;
  readonly #mirror = new Mirror<SignInLink>(LINK_PREFIX, linkSchema);
  #stopFollowing: () => void = () => {};

  private constructor(options: LinksOptions, bucket: KeyedBytes) {
    this.#options = options;
    this.#bucket = bucket;
  }

  static async open(options: LinksOptions): Promise<SignInLinks> {
    const bucket = await options.bus.keyed(LINK_BUCKET);
    const links = new SignInLinks(options, bucket);
    links.#stopFollowing = await followBucket(bucket, [links.#mirror], options.log);
    return links;
  }

  /** Number of stored links. */
  get stored(): number {
    return [...this.#mirror.entries()].length;
  }

  /**
   * Uses a link up. Undefined for one that is wrong, used or expired. The bus is asked, because it decides which request is
   * first.
   */
  async take(token: string): Promise<SignInLink | undefined> {
    const key = linkKeyOf(token);
    if (key === undefined) return undefined;
    const stored = await this.#bucket.get(key);
    const link = stored?.bytes === undefined ? undefined : decodeLink(stored.bytes);
    if (stored === undefined || link === undefined) return undefined;
    try {
      await this.#bucket.remove(key, stored.revision);
    } catch (error) {
      if (error instanceof BusError && error.reason === 'conflict') return undefined;
      throw error;
    }
    return this.#isOver(link) ? undefined : link;
  }

  /** Removes the records of links that were not used in time. */
  async sweep(): Promise<void> {
    for (const { key, value } of [...this.#mirror.entries()])
      if (this.#isOver(value)) await this.#bucket.remove(key);
  }

  stop(): void {
    this.#stopFollowing();
  }

  #isOver({ expiresAt }: SignInLink): boolean {
    return Date.parse(expiresAt) <= this.#options.clock.nowMs();
  }
}

function decodeLink(bytes: Uint8Array): SignInLink | undefined {
  try {
    return linkSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
