import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { ClientGuard } from '../../infra/accounts/client-guard.ts';
import type { Mirror } from '../../infra/bus/mirror.ts';
import type { HostContext } from '../../infra/process/host.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { BrowserHeads } from '../http/browser-head.ts';
import type { CookieCallers } from '../http/caller.ts';
import { Cookies } from './cookies.ts';
import { Holders } from './holders.ts';
import { KnownBrowsers } from './known-browsers.ts';
import type { Passphrases } from './passphrases.ts';
import type { Share } from './share-record.ts';
import { addShareRoutes } from './share-routes.ts';
import { Shares } from './shares.ts';
import { SignInDoor } from './sign-in-door.ts';
import { SignInLinks } from './sign-in-links.ts';
import { addSignInRoutes } from './sign-in-routes.ts';
import { SignIns } from './sign-ins.ts';
import type { User } from './user-record.ts';

const SWEEP_EVERY_MS = 300_000;

export interface SignInOptions {
  readonly context: Pick<HostContext, 'bus' | 'clock' | 'config' | 'http' | 'log' | 'metrics'>;
  readonly accounts: Accounts;
  readonly users: Mirror<User>;
  readonly shares: Mirror<Share>;
  readonly clientGuard: ClientGuard;
  readonly passphrases: Passphrases;
}

/** The parts of sign-ins that the rest of the room needs. */
export interface SignInService {
  readonly cookies: CookieCallers;
  addRoutes(authenticator: Authenticator, browsers: BrowserHeads): void;
  stop(): void;
}

/** Serves `/sign-in`, `/session` and `/sign-out`, and finds the callers of cookies, until `stop`. */
export async function openSignIn({
  context,
  accounts,
  users,
  shares: shareRecords,
  clientGuard,
  passphrases,
}: SignInOptions): Promise<SignInService> {
  const { bus, clock, config, http, log, metrics } = context;
  const holders = new Holders({ accounts, users });
  const signIns = await SignIns.open({ bus, clock, log, metrics, holders });
  const shares = new Shares({ secretsKey: config.SECRETS_KEY, clock, accounts, shares: shareRecords });
  const links = await SignInLinks.open({ bus, clock, log });
  const knownBrowsers = new KnownBrowsers({ secretsKey: config.SECRETS_KEY, clock });
  const cookies = new Cookies({ accounts, signIns, shares, knownBrowsers, clock });
  const door = new SignInDoor({ clientGuard, holders, links, passphrases, knownBrowsers, clock, metrics });
  const sweep = async () => {
    door.sweep();
    try {
      await signIns.sweep();
      await links.sweep();
    } catch (error) {
      log.warn({ err: error }, 'sign-ins that are over could not be removed, retrying later');
    }
  };
  // Catches everything.
  const timer = setInterval(() => void sweep(), SWEEP_EVERY_MS).unref();
  return {
    cookies,
    addRoutes: (authenticator, browsers) => {
      addSignInRoutes({ http, accounts, authenticator, browsers, door, holders, signIns, cookies });
      addShareRoutes({ http, authenticator, browsers, clientGuard, door, shares, cookies });
    },
    stop: () => {
      clearInterval(timer);
      signIns.stop();
      links.stop();
    },
  };
}
