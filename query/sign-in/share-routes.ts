import type { ClientGuard } from '../../infra/accounts/client-guard.ts';
import { copyText } from '../../infra/http/cut-text.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer, RequestHead } from '../../infra/http/http.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import { type Authenticator, crossSite } from '../http/authenticator.ts';
import { type BrowserHead, type BrowserHeads, SHARE_COOKIE } from '../http/browser-head.ts';
import { readBody } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import type { Cookies } from './cookies.ts';
import { shownSite } from './session.ts';
import type { PresentShare, Shares } from './shares.ts';
import { type OpenedShare, type SharedAnswer, SIGN_IN_BODY_MAX_BYTES, shareOpening } from './sign-in-api.ts';
import type { SignInAttempt, SignInDoor } from './sign-in-door.ts';

/** Used for a link without a passphrase: its holder may read the site. */
const OPEN = { mayRead: true, headers: [] as HeaderList };
const NO_STORE = ['cache-control', 'no-store'] as const;

export interface ShareRoutesDeps {
  readonly http: HttpServer;
  readonly authenticator: Authenticator;
  readonly browsers: BrowserHeads;
  readonly clientGuard: ClientGuard;
  readonly door: SignInDoor;
  readonly shares: Shares;
  readonly cookies: Cookies;
}

interface ShareHead {
  readonly token: string;
  readonly address: string;
  readonly contentType: string;
  readonly browser: BrowserHead;
}

/** Adds `GET /shared/{token}` and `POST /shared/{token}/open`. */
export function addShareRoutes(deps: ShareRoutesDeps): void {
  const { http, authenticator, browsers, door, shares, cookies } = deps;
  const readHead = (head: RequestHead): ShareHead => ({
    token: copyText(head.parameter(0)),
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
    method: 'get',
    pattern: '/shared/:token',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead,
    answer: (head, _body, reply) =>
      answering(reply, async (noted) => {
        const { share, site } = foundShare(deps, head, noted);
        const needsPassphrase = share.passphraseHash !== null;
        const { mayRead, headers } = needsPassphrase ? await cookies.readerOf(head.browser, site.id) : OPEN;
        const answer: SharedAnswer = { site: mayRead ? shownSite(site) : null, needsPassphrase };
        reply.json(200, JSON.stringify(answer), [NO_STORE, ...headers]);
      }),
  });
  http.route({
    method: 'post',
    pattern: '/shared/:token/open',
    bodyMaxBytes: SIGN_IN_BODY_MAX_BYTES,
    cors: undefined,
    readHead,
    answer: (head, bytes, reply) => {
      const copy = bytes.slice();
      return answering(reply, async (noted) => {
        const { browser, address } = head;
        if (browser.source === 'other') throw crossSite();
        const found = foundShare(deps, head, noted);
        const { body } = readBody(head, copy, { body: shareOpening, isBodyOptional: true });
        const { passphraseHash } = found.share;
        // The cookie of this link replaces the passphrase, so a reload does not ask for it again.
        const isOpen = shares.use('cookie', browser.cookies[SHARE_COOKIE])?.caller.id === found.share.id;
        if (passphraseHash !== null && !isOpen)
          await door.checkSharePassphrase(passphraseHash, body.passphrase, { address, noted });
        const cookie = shares.open('cookie', found);
        const viewToken = shares.open('view', found);
        const [byCookie, byToken] = [shares.use('cookie', cookie), shares.use('view', viewToken)];
        if (byCookie === undefined || byToken?.caller.proof === undefined) throw gone();
        const viewTokenExpiresAt = new Date(byToken.caller.proof.expiresAtMs).toISOString();
        const answer: OpenedShare = {
          site: shownSite(found.site),
          needsPassphrase: passphraseHash !== null,
          viewToken,
          viewTokenExpiresAt,
        };
        reply.json(200, JSON.stringify(answer), [
          NO_STORE,
          ...cookies.shareCookie(browser, cookie, byCookie.caller),
        ]);
      });
    },
  });
}

/** The link of a request. A wrong token is counted by address like a wrong secret. @throws {RejectError} */
function foundShare(
  { clientGuard, shares }: ShareRoutesDeps,
  { token, address }: ShareHead,
  noted: SignInAttempt['noted'],
): PresentShare {
  const found = shares.find(token);
  if (found !== undefined) return found;
  const { kind, failures } = clientGuard.fail(address);
  if (kind === 'wrong') throw gone();
  noted(limitHeaders(failures));
  throw new RejectError(
    'limited',
    'too many wrong links came from this address; retry after the time in Retry-After',
  );
}

function gone(): RejectError {
  return new RejectError('unknown-record', 'no such shared link, or it has ended');
}
