import { computed, signal } from '@preact/signals';
import { go, look, lookThrough, readAddress, sharedToken } from './address.ts';
import { forgetAnswers } from './answers.ts';
import { AnswerError, ask, useViewToken, whenSignedOut } from './service.ts';

/** A site that the signed-in caller may see. */
export interface SignedInSite {
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
  readonly currency: string;
  readonly isPublic: boolean;
}

/** The answer of `GET /session` and of `POST /sign-in`. */
export interface SignedIn {
  readonly name: string;
  readonly kind: 'client' | 'user';
  readonly role: 'root' | 'read';
  readonly sites: readonly SignedInSite[];
  readonly expiresAt: string;
}

/** The credentials of a sign-in. */
export type SignInProof =
  | { readonly clientId: string; readonly clientSecret: string }
  | { readonly email: string; readonly passphrase: string }
  | { readonly link: string };

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'away'; readonly error: AnswerError }
  | { readonly kind: 'signed-out'; readonly message: string | undefined }
  | { readonly kind: 'signed-in'; readonly who: SignedIn }
  /** A shared link: not yet known to open, waiting for its passphrase, or open. */
  | { readonly kind: 'locked'; readonly link: SharedLink }
  | { readonly kind: 'shared'; readonly site: SignedInSite };

/** The answer of `GET /shared/{token}`, with the token. */
export interface SharedLink {
  readonly token: string;
  /** Null before the passphrase. */
  readonly site: SignedInSite | null;
  readonly needsPassphrase: boolean;
}

/** The answer of `POST /shared/{token}/open`. */
interface UnlockedLink {
  readonly site: SignedInSite;
  readonly viewToken: string;
}

export const session = signal<SessionState>({ kind: 'unknown' });

/** The signed-in client or user. */
export const signedIn = computed(() => (session.value.kind === 'signed-in' ? session.value.who : undefined));

/** True if the page shows a shared link, which leaves out everything about single people. */
export const isShared = computed(() => session.value.kind === 'shared');

/** The viewed site; undefined while there is none. */
export const site = computed(() =>
  session.value.kind === 'shared'
    ? session.value.site
    : signedIn.value?.sites.find(({ id }) => id === look.value.site),
);

const LINK = /^#sign-in=(.+)$/;

/** Finds the signed-in caller: by the link in the address, which is valid once and leaves the address, or by the cookie. */
export async function openSession(): Promise<void> {
  const token = sharedToken(location.hash);
  if (token !== undefined) return openLink(token);
  if (isFramed()) {
    const message = 'This address shows shared links alone, such as #/shared/… behind it.';
    session.value = { kind: 'away', error: new AnswerError(404, message) };
    return;
  }
  whenSignedOut(() => leave(undefined));
  const link = LINK.exec(location.hash)?.[1];
  if (link !== undefined) {
    history.replaceState(null, '', '#/');
    try {
      return await signIn({ link: decodeURIComponent(link) });
    } catch (error) {
      return leave(error instanceof Error ? error.message : String(error));
    }
  }
  try {
    enter(await ask<SignedIn>('session', { isPublic: true }));
  } catch (error) {
    const failure = error instanceof AnswerError ? error : new AnswerError(0, String(error));
    if (failure.status === 401) leave(undefined);
    else session.value = { kind: 'away', error: failure };
  }
}

/** True if this is the page for frames of other sites, which has no cookie there. */
function isFramed(): boolean {
  return location.pathname.endsWith('/shared-page');
}

/** Finds the site of a shared link, and opens the link if it needs nothing, or was opened in this browser before. */
async function openLink(token: string): Promise<void> {
  whenSignedOut(() => {
    forgetAnswers();
    session.value = { kind: 'unknown' };
    void openLink(token);
  });
  try {
    const found = await ask<Omit<SharedLink, 'token'>>(`shared/${token}`, { isPublic: true });
    const link = { ...found, token };
    if (!link.needsPassphrase) return await unlock(link, undefined);
    if (link.site !== null) show(token, link.site);
    else session.value = { kind: 'locked', link };
  } catch (error) {
    const failure = error instanceof AnswerError ? error : new AnswerError(0, String(error));
    session.value = { kind: 'away', error: failure };
  }
}

/** Opens a shared link. Throws the service's answer to a wrong passphrase. */
export async function unlock(link: SharedLink, passphrase: string | undefined): Promise<void> {
  const body = passphrase === undefined ? {} : { passphrase };
  const address = `shared/${link.token}/open`;
  const opened = await ask<UnlockedLink>(address, { method: 'POST', body, isPublic: true });
  if (isFramed()) useViewToken(opened.viewToken);
  show(link.token, opened.site);
}

function show(token: string, shown: SignedInSite): void {
  lookThrough({ token, site: shown.id });
  session.value = { kind: 'shared', site: shown };
}

/** Signs in. Throws the service's answer to a wrong proof. */
export async function signIn(body: SignInProof): Promise<void> {
  enter(await ask<SignedIn>('sign-in', { method: 'POST', body, isPublic: true }));
}

/** Ends the session everywhere. */
export async function signOut(): Promise<void> {
  await ask('sign-out', { method: 'POST', isPublic: true });
  leave(undefined);
}

/** Reloads the visible sites, after a site was added or changed. */
export async function reloadSession(): Promise<void> {
  enter(await ask<SignedIn>('session'));
}

function enter(who: SignedIn): void {
  session.value = { kind: 'signed-in', who };
  const [first] = who.sites;
  // Another address may have been opened while the service was asked.
  readAddress();
  if (first !== undefined && !who.sites.some(({ id }) => id === look.peek().site))
    go({ site: first.id }, { replace: true });
}

function leave(message: string | undefined): void {
  forgetAnswers();
  session.value = { kind: 'signed-out', message };
}
