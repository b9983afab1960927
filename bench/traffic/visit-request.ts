import type { ModelStep, ModelVisit } from '../../ingest/testing/visitors.ts';

const ORIGIN = 'https://shop.example';

/** The body that a visitor's browser, or a server on its behalf, would send for a step of a visit. */
export function trackBody(visit: ModelVisit, step: ModelStep, isFirst: boolean): string {
  const properties = {
    ...step.properties,
    __path: ORIGIN + encodeURI(step.path),
    __title: step.title,
    ...(isFirst && visit.referrer !== '' ? { __referrer: visit.referrer } : {}),
  };
  const profile = visit.profileId === '' ? {} : { profileId: visit.profileId };
  return JSON.stringify({ type: 'track', payload: { name: step.name, ...profile, properties } });
}

/** The headers of that request. */
export function trackHeaders(visit: ModelVisit): Record<string, string> {
  return { 'service-client-ip': visit.address, 'user-agent': visit.userAgent };
}
