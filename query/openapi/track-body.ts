import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { batchSchema, bodySchema } from '../../ingest/track-schema.ts';
import { type JsonSchema, jsonSchemaOf, mapValues } from './json-schema.ts';

/**
 * The bodies of `/track` as JSON Schema: those of `ingest/track-schema.ts`, with what its fields mean. The parts of it
 * that are code there, `properties`, are described here.
 */

/** What each `type` of body is called, and what it does. */
const TYPES: Readonly<Record<string, { readonly name: string; readonly does: string }>> = {
  track: { name: 'TrackEvent', does: 'Records an event.' },
  identify: {
    name: 'Identify',
    does: 'Says who a profile is: given fields replace what was, properties are merged into those that were.',
  },
  increment: {
    name: 'Increment',
    does: 'Adds to a number among the properties of a profile. Calls at once lose no step; profile and property are made where there is none.',
  },
  decrement: { name: 'Decrement', does: 'The same, taken away.' },
  group: {
    name: 'UpsertGroup',
    does: 'Makes a group, or changes one: given fields replace, properties are merged.',
  },
  assign_group: {
    name: 'AssignGroup',
    does: 'Makes a profile a member of groups besides those that it is in.',
  },
  alias: {
    name: 'Alias',
    does: 'Events and sessions of `alias` count as those of `profileId` from then on. What was recorded before keeps its name.',
  },
};

const HEAD: Readonly<Record<string, string>> = {
  type: 'What the body is.',
  clientId: 'The client, where no header names it.',
  clientSecret: 'Its secret, where no header has it.',
  projectId: 'The site, which a root client has to name.',
};

/** Of fields that mean the same in every type. */
const SHARED: Readonly<Record<string, string>> = {
  profileId: "The person, by the site's own name or number for it.",
  eventId:
    'The same id of the same site within 24 hours counts once, and is answered as the first was. Goes before the header `Idempotency-Key`.',
};

const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  track: {
    name: 'What happened. `screen_view` is a page or screen, `revenue` is money; `session_start` and `session_end` are recorded by the service itself and refused.',
    groups: 'Ids of groups that the event belongs to.',
  },
  identify: { avatar: 'The address of a picture.' },
  increment: { property: 'Dots lead into nested properties.', value: '1 where it is not given.' },
  decrement: { property: 'Dots lead into nested properties.', value: '1 where it is not given.' },
  group: {
    id: "The site's own name or number for the group.",
    type: 'What kind of group it is: company, team, …',
  },
  assign_group: {
    groupIds: 'Ids of groups.',
    profileId: "The person; the visitor's device where it is not given.",
  },
  alias: { alias: 'The other name of the same person.' },
};

const ownedProperties = {
  __deviceId: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('The device, instead of the one that is derived.'),
  __ip: z
    .string()
    .optional()
    .describe(
      "The visitor's address, from a caller with a secret. It is used for place and device, and not kept.",
    ),
};

const properties = z
  .looseObject(ownedProperties)
  .describe(
    'Any JSON. Nested keys are joined by dots, values are kept as text: at most 256, of at most 4 KiB. What is named here is read and not kept as a property.',
  );

const eventProperties = z
  .looseObject({
    __path: z
      .string()
      .optional()
      .describe('The full address of the page, or its path; origin, query and hash are taken from it.'),
    __referrer: z.string().optional().describe('The address of the page before.'),
    __title: z.string().optional().describe('The title of the page.'),
    __timestamp: z
      .union([z.string(), z.number()])
      .optional()
      .describe(
        'When it happened: ISO 8601 or milliseconds since 1970. More than a minute ahead is taken as now; older than 7 days needs a secret.',
      ),
    ...ownedProperties,
    __amount: z
      .union([z.number().min(0), z.string()])
      .optional()
      .describe(
        'Of a `revenue`: major units of the currency, a number or decimal text. Not beside `__revenue`.',
      ),
    __revenue: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Of a `revenue`: the same in minor units, such as cents.'),
    __currency: z.string().optional().describe("Of a `revenue`: ISO 4217; the site's where it is not given."),
    __orderId: z
      .union([z.string(), z.number()])
      .optional()
      .describe('Of a `revenue`: the order. The same order counts once per site, for ever.'),
    __refund: z
      .boolean()
      .optional()
      .describe('Of a `revenue`: gives back the amount, or the whole order without one. Needs `__orderId`.'),
  })
  .describe(
    'Any JSON. Nested keys are joined by dots, values are kept as text: at most 256, of at most 4 KiB. What is named here is read and not kept as a property.',
  );

/** The schemas of a body, by name: `TrackBody`, and each type of it. */
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
