import { z } from 'zod';
import type { Accounts } from '../../infra/accounts/accounts.ts';
import { copyText } from '../../infra/http/cut-text.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer, RequestHead } from '../../infra/http/http.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import { type Authenticator, crossSite } from '../http/authenticator.ts';
import {
  type BrowserHead,
  type BrowserHeads,
  KNOWN_BROWSER_COOKIE,
  SIGN_IN_COOKIE,
  setCookie,
} from '../http/browser-head.ts';
import { readBy } from '../http/read-by.ts';
import { readBody } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import type { Cookies } from './cookies.ts';
import type { Holders } from './holders.ts';
import { shownSession } from './session.ts';
import { SIGN_IN_BODY_MAX_BYTES, schemaFor } from './sign-in-api.ts';
import type { SignInAttempt, SignInDoor } from './sign-in-door.ts';
import type { SignIns } from './sign-ins.ts';

const NO_STORE = ['cache-control', 'no-store'] as const;

export interface SignInRoutesDeps {
  readonly http: HttpServer;
  readonly accounts: Pick<Accounts, 'sites'>;
  readonly authenticator: Authenticator;
  readonly browsers: BrowserHeads;
  readonly door: SignInDoor;
  readonly holders: Holders;
  readonly signIns: SignIns;
  readonly cookies: Cookies;
}

/** The parts of a request's head that are read. */
interface SignInHead {
  readonly address: string;
  readonly contentType: string;
  readonly browser: BrowserHead;
}

/** Adds `POST /sign-in`, `GET /session` and `POST /sign-out`. */
export function addSignInRoutes(deps: SignInRoutesDeps): void {
  const { http, authenticator, browsers, signIns } = deps;
  const readHead = (head: RequestHead): SignInHead => ({
    address: copyText(authenticator.addressOf(head)),
    contentType: copyText(head.header('content-type')),
    browser: browsers.read(head),
  });
  const answering = async (reply: Reply, answer: (noted: SignInAttempt['noted']) => Promise<void>) => {
    let headers: HeaderList = [NO_STORE];
    try {
      await answer((more) => {
        headers = [NO_STORE, ...more];
      });
    } catch (error) {
      authenticator.reject(error, headers, reply);
    }
  };
  http.route({
    method: 'post',
    pattern: '/sign-in',
    bodyMaxBytes: SIGN_IN_BODY_MAX_BYTES,
    cors: undefined,
    readHead,
    answer: (head, bytes, reply) =>
      answering(reply, (noted) => signIn(deps, head, bytes.slice(), { reply, noted })),
  });
  http.route({
    method: 'get',
    pattern: '/session',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead,
    answer: ({ address, browser }, _body, reply) =>
      answering(reply, async (noted) => {
        // Without a cookie nothing was tried, so nothing counts as wrong.
        if (browser.cookies[SIGN_IN_COOKIE] === '') throw new RejectError('unauthorized', 'not signed in');
        let headers: HeaderList = [];
        const caller = await authenticator.admitCookie({ address, browser }, (counted) => {
          headers = counted;
          noted(counted);
        });
        reply.json(200, JSON.stringify(shownSession(deps.accounts, caller)), [NO_STORE, ...headers]);
      }),
  });
  http.route({
    method: 'post',
    pattern: '/sign-out',
    bodyMaxBytes: SIGN_IN_BODY_MAX_BYTES,
    cors: undefined,
    readHead,
    answer: ({ browser }, _body, reply) =>
      answering(reply, async () => {
        const token = browser.cookies[SIGN_IN_COOKIE];
        if (token !== '' && browser.source !== 'same') throw crossSite();
        await signIns.end(token);
        reply.send(204, '', [NO_STORE, ...setCookie(SIGN_IN_COOKIE, '', { ...browser, maxAgeMs: 0 })]);
      }),
  });
}

async function signIn(
  deps: SignInRoutesDeps,
  { address, contentType, browser }: SignInHead,
  bytes: Uint8Array,
  { reply, noted }: { readonly reply: Reply; readonly noted: SignInAttempt['noted'] },
): Promise<void> {
  const { door, signIns } = deps;
  const earlier = browser.cookies[SIGN_IN_COOKIE];
  // A page of another origin must not sign a person in, either: it could be as another user, without the person knowing.
  if (browser.source === 'other' || (earlier !== '' && browser.source !== 'same')) throw crossSite();
  const { sent } = readBody({ contentType }, bytes, { body: z.unknown() });
  const given = readBy(schemaFor(sent), sent, 'body');
  const { holder, fingerprint } = await door.open(given, {
    address,
    knownBrowser: browser.cookies[KNOWN_BROWSER_COOKIE],
    noted,
  });
  const token = await signIns.begin(holder, fingerprint);
  await signIns.end(earlier);
  const used = await signIns.use(token, true);
  if (used === undefined)
    throw new RejectError('unauthorized', 'the credentials were changed in this moment; sign in again');
  reply.json(200, JSON.stringify(shownSession(deps.accounts, used.caller)), [
    NO_STORE,
    ...deps.cookies.signInCookie(browser, token, used.caller),
    ...deps.cookies.knownBrowserCookie(
      browser,
      holder.kind === 'user' ? deps.holders.user(holder.id) : undefined,
    ),
  ]);
}
