import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { batchSchema, bodySchema } from '../../ingest/track-schema.ts';
import { type JsonSchema, jsonSchemaOf, mapValues } from './json-schema.ts';

/**
 * The bodies of `/track` as JSON Schema: the bodies of `ingest/track-schema.ts` with descriptions. Code there reads `properties`,
 * so its schema is defined here.
 */

/** A sender's rights to profiles without a secret. */
const OWN =
  'Without a client secret a page may create a profile, and update one that belongs to its device; otherwise the answer is 202 with the reason, unless the site setting `allowUnsafeIdentify` is on. A profile belongs to the device that created it, and to those that a sender with a client secret names together with it: `identify` or an event with `profileId` and `__deviceId`. Device ids change daily, and a device is recognized by that of today or yesterday. A visitor who returns later needs such a call from your server.';

/** The component name and the description of each body type. */
const TYPES: Readonly<Record<string, { readonly name: string; readonly does: string }>> = {
  track: { name: 'TrackEvent', does: 'Records an event.' },
  identify: {
    name: 'Identify',
    does: `Creates or updates a profile. Given fields replace the stored ones; properties are merged. ${OWN}`,
  },
  increment: {
    name: 'Increment',
    does: 'Adds to a numeric property of a profile. Concurrent calls lose no step. Creates the profile and the property when they do not exist. Without a client secret the same rule applies as to `identify`.',
  },
  decrement: {
    name: 'Decrement',
    does: 'Subtracts from a numeric property of a profile. Otherwise the same as `increment`.',
  },
  group: {
    name: 'UpsertGroup',
    does: 'Creates or updates a group. Given fields replace the stored ones; properties are merged. Without a client secret a page may create a group, describe one that `assign_group` named, and update a group of its own device; otherwise the answer is 202 with the reason, unless the site setting `allowUnsafeIdentify` is on.',
  },
  assign_group: {
    name: 'AssignGroup',
    does: 'Adds a profile to groups. Its other memberships stay. A group that does not exist is created, with its id as name and an empty type, until a `group` call describes it. Without a client secret the same rule applies to the profile as to `identify`.',
  },
  alias: {
    name: 'Alias',
    does: 'From now on, events and sessions of `alias` count as those of `profileId`. Events recorded before do not change. Needs a client secret (401), unless the site setting `allowUnsafeAliases` is on. A site has at most 100,000 aliases with 16 MiB, and a team 250,000 (403). `GET /manage/projects/{projectId}/aliases` lists them, and a DELETE undoes one.',
  },
  replay: {
    name: 'Replay',
    does: 'A part of a recorded session, as the SDKs of the de-facto standard send it. Sessions are not recorded: whatever the payload holds, the answer is 202 with that reason, and the request is counted as excluded.',
  },
};

const HEAD: Readonly<Record<string, string>> = {
  type: 'The type of the body.',
  clientId: 'The client id. Used when no header names the client.',
  clientSecret: 'The client secret. Used when no header carries it.',
  projectId: 'The site. Required for root clients, which are not bound to a site.',
  eventId: 'The same as `payload.eventId`. Used when the payload has none.',
};

/** Descriptions of fields that mean the same in every type. */
const SHARED: Readonly<Record<string, string>> = {
  profileId: 'The id of the profile: a string or number of your choice.',
  eventId:
    'An idempotency key. The same id on the same site within 24 hours counts once and returns the first response. Takes precedence over the header `Idempotency-Key`.',
};

const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  track: {
    name: 'The name of the event. `screen_view` is a view of a page or screen; `revenue` is a payment and needs an amount. An event with an amount is credited to the session of its device, also when that has ended, and unless it is a `screen_view` it never opens one: for a device without a session it counts as revenue, without session and bounce, and `sessionId` is empty. `session_start` and `session_end` are reserved and rejected.',
    groups: 'Ids of the groups that the event belongs to.',
  },
  identify: { avatar: 'The URL of a picture.' },
  increment: {
    property: 'The name of the property. Dots address nested properties.',
    value: 'The step. Default: 1.',
  },
  decrement: {
    property: 'The name of the property. Dots address nested properties.',
    value: 'The step. Default: 1.',
  },
  group: {
    id: 'The id of the group: a string or number of your choice.',
    type: 'The type of the group, such as `company`.',
  },
  assign_group: {
    groupIds: 'Ids of the groups to join.',
    profileId: 'The id of the profile. Default: the device id of the visitor.',
  },
  alias: { alias: 'The other id of the same person.' },
};

const PROPERTIES_DESCRIPTION =
  'Custom properties, any JSON. Nested keys are joined with dots; values are stored as text. Maximum: 256 keys, 4 KiB per value. The reserved keys listed here are read and not stored as properties.';

const softwareText = z.union([z.string(), z.number()]).optional();
/** The sender's properties of its device. */
const deviceProperties = {
  __os: softwareText.describe(
    'The operating system, such as `iOS` or `Android`. This and the next six override what the user agent says, and make the sender a visitor on a device: an app sends them with its own user agent. Text is cut to 64 characters.',
  ),
  __osVersion: softwareText.describe('The version of the operating system.'),
  __brand: softwareText.describe('The maker of the device. Default: derived from `__os` and `__model`.'),
  __model: softwareText.describe('The model of the device, such as `iPhone15,2` or `SM-S918B`.'),
  __device: z
    .string()
    .optional()
    .describe(
      'The kind of device: `desktop`, `mobile`, `tablet`, `tv`, `console` or `server`, in any case; `phone`, `smartphone`, `wearable`, `smarttv` and `computer` are understood, too, and any other word is rejected. `server`, with a secret: the sender is a program and no visitor, whatever its user agent. Default: derived from `__os` and `__model`.',
    ),
  __browser: softwareText.describe('The browser, or the app that shows the page.'),
  __browserVersion: softwareText.describe('The version of the browser or app.'),
};

const reservedProperties = {
  __deviceId: z.string().min(1).max(64).optional().describe('Overrides the derived device id.'),
  __ip: z
    .string()
    .optional()
    .describe(
      "The visitor's IP address, used only with a valid secret. Used for location and device id; never stored.",
    ),
  __userAgent: z
    .string()
    .optional()
    .describe(
      "The visitor's user agent, used only with a valid secret. It stands in for the header, for browser, operating system, device and device id; send `__ip` with it, because without it the address of the request counts. Without a secret the header decides, also whether the sender is a bot. Never stored.",
    ),
  ...deviceProperties,
};

const properties = z.looseObject(reservedProperties).describe(PROPERTIES_DESCRIPTION);

const eventProperties = z
  .looseObject({
    __path: z
      .string()
      .optional()
      .describe(
        'The full URL of the page, or its path. Origin, path, query and hash are taken from it, and the campaign from `utm_source`, `utm_medium`, `utm_campaign`, `utm_term` and `utm_content` in the query, with `ref` and `source` in place of a missing source, all in any case. With the site setting `hashChanges`, the hash is part of the path. `app://settings/x`, or an address of any other scheme, is the page `/settings/x` of the origin `app://`; only `localhost`, browser extensions and `android-app://` keep their host in the origin.',
      ),
    __referrer: z
      .string()
      .optional()
      .describe(
        'The URL of the referring page (`https:`, `http:`, `android-app:` or `ios-app:`). Origin and path are stored, query and fragment are not: they may hold what a visitor searched for. A page of the same host, a path, `about:` and a URL of any other scheme are accepted and are no source. The parameters of an installation that Android gives to apps (`utm_source=google-play&utm_medium=organic`) are the campaign, where the page has no query. Any other text is rejected. Known spam domains return 202, unless the site setting `filterReferrerSpam` is off.',
      ),
    __title: z.string().optional().describe('The title of the page.'),
    __language: z
      .string()
      .optional()
      .describe(
        "The visitor's language: a BCP 47 tag such as `de-DE`, of which language, script and region are stored. Default for a browser: the first language of the `Accept-Language` header. An invalid tag is stored as unknown.",
      ),
    __timezone: z
      .string()
      .optional()
      .describe(
        "The visitor's time zone: an IANA name such as `Europe/Berlin`. An unknown name is stored as unknown.",
      ),
    __screen: z
      .string()
      .optional()
      .describe(
        "The size of the visitor's screen in CSS pixels: `1920x1080`, each side from 1 to 20,000. Anything else is stored as unknown.",
      ),
    __timestamp: z
      .union([z.string(), z.number()])
      .optional()
      .describe(
        'The time of the event: ISO 8601 (UTC when it names no zone), or a number since 1970, also as text. A number is read as seconds where that is a time from March 1973 to 2200, and otherwise as milliseconds; a value that is neither is rejected. A time more than 1 minute in the future is replaced by the current time. A time more than 7 days in the past needs a secret.',
      ),
    ...reservedProperties,
    __amount: z
      .union([z.number().min(0), z.string()])
      .optional()
      .describe(
        'Money, on an event of any name: the amount in major units of the currency, a number or decimal string. At most 9,007,199,254,740,991 minor units of the currency: 90,071,992,547,409.91 of one with two decimals, and without `__currency` 900,719,925,474.0991 of any. A page without a secret may send it only when the site allows it (401). Do not combine with `__revenue`.',
      ),
    __revenue: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('The same as `__amount`, in minor units such as cents. At most 9,007,199,254,740,991.'),
    __currency: z
      .string()
      .optional()
      .describe('The currency of the amount: ISO 4217 code. Default: the currency of the site.'),
    __orderId: z
      .union([z.string(), z.number()])
      .optional()
      .describe(
        'The order id of the amount. An order counts once per site, without a time limit; a repeat changes nothing and returns the `deviceId` and `sessionId` of the first response. Without an amount or a refund it is not stored.',
      ),
    __refund: z
      .boolean()
      .optional()
      .describe(
        'On an event of any name: refunds the amount, or the whole order when no amount is given. Requires `__orderId`.',
      ),
  })
  .describe(PROPERTIES_DESCRIPTION);

/** The schemas of `TrackBody` and of each body type, by name. */
export function trackBodySchemas(): Readonly<Record<string, JsonSchema>> {
  const EventProperties = jsonSchemaOf(eventProperties, 'input');
  const Properties = jsonSchemaOf(properties, 'input');
  const bodies = must(jsonSchemaOf(bodySchema, 'input').oneOf, 'a body of /track is one of several types');
  const described = bodies.map((body) => {
    const type = typeOf(body);
    const schema = describedBody(body, type, type === 'track' ? EventProperties : Properties);
    return { type, name: must(TYPES[type], `the type ${type} is not described`).name, schema };
  });
  return {
    EventProperties,
    Properties,
    ...Object.fromEntries(described.map(({ name, schema }) => [name, schema])),
    TrackBody: {
      oneOf: described.map(({ schema }) => schema),
      discriminator: {
        propertyName: 'type',
        mapping: Object.fromEntries(
          described.map(({ type, name }) => [type, `#/components/schemas/${name}`]),
        ),
      },
    },
  };
}

/** The body of `POST /track`. */
export function trackBody(): JsonSchema {
  return must(trackBodySchemas().TrackBody, 'the body of /track has a schema');
}

/** The body of `POST /track/batch`. */
export function trackBatch(): JsonSchema {
  return { ...jsonSchemaOf(batchSchema, 'input'), items: trackBody() };
}

function typeOf(body: JsonSchema): string {
  return String(body.properties?.type?.const);
}

function describedBody(body: JsonSchema, type: string, propertiesSchema: JsonSchema): JsonSchema {
  const head = must(body.properties, 'a body is an object');
  const payload = must(head.payload, 'a body has a payload');
  const fields = mapValues(must(payload.properties, 'a payload is an object'), (field, name) =>
    name === 'properties' ? propertiesSchema : withMeaning(field, FIELDS[type]?.[name] ?? SHARED[name]),
  );
  return {
    ...body,
    description: must(TYPES[type], `the type ${type} is not described`).does,
    properties: {
      ...mapValues(head, (field, name) => withMeaning(field, HEAD[name])),
      payload: { ...payload, properties: fields },
    },
  };
}

function withMeaning(schema: JsonSchema, description: string | undefined): JsonSchema {
  return description === undefined ? schema : { ...schema, description };
}
