import type {
  AssignUpdate,
  DeviceUpdate,
  IdentifyUpdate,
  StepUpdate,
} from '../../../ingest/entity-update.ts';

/**
 * The oracle of profiles, as slow and plain as possible. The rules:
 *
 * 1. An update whose id is among the last 64 applied ones does nothing.
 * 2. `identify` replaces the given texts and sets its properties one after the other. A property is a path of names;
 *    setting one removes every property whose path begins with its own or is the beginning of its own. If it removes
 *    nothing and would be the 513th, it is ignored.
 * 3. `step` adds to the number at a path, or to 0 without a value. It is refused if the value is no number, if a path
 *    above or below has a value, if a number has more than 64 characters, or if it would be the 513th property.
 * 4. `assign` adds new groups, up to 1,000.
 * 5. Without an id, an update without effect leaves the times unchanged, too.
 * 6. A profile belongs to devices: the device of the update that made it, devices named by a sender with a secret, and
 *    the newest device of a sender that has one of them already, or whose device is the profile. It remembers the last
 *    20.
 * 7. An update from a device, without a secret and without the site's permission, is applied only to a new profile, or
 *    to a profile of the device.
 * 8. `device` only names a device of an existing profile, and does not change the time of its last change.
 */
export interface ReferenceProfile {
  readonly texts: Readonly<Record<string, string>>;
  readonly properties: readonly (readonly [path: readonly string[], value: string])[];
  readonly groups: readonly string[];
  readonly ids: readonly string[];
  readonly devices: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

type Update = IdentifyUpdate | StepUpdate | AssignUpdate | DeviceUpdate;
type Property = readonly [path: readonly string[], value: string];

/** The profile after all updates, and the outcome of each; undefined when none was taken. */
export function referenceProfile(updates: readonly Update[]): {
  readonly profile: ReferenceProfile | undefined;
  readonly outcomes: readonly string[];
} {
  let profile: ReferenceProfile | undefined;
  const outcomes: string[] = [];
  for (const update of updates) {
    const { after, outcome } = next(profile, update);
    outcomes.push(outcome);
    profile = after;
  }
  return { profile, outcomes };
}

function next(before: ReferenceProfile | undefined, update: Update) {
  if (update.updateId !== '' && before?.ids.includes(update.updateId))
    return { after: before, outcome: 'repeat' };
  const { kind, devices: named } = update.authority;
  const isOwn = before === undefined || named.some((id) => id === update.id || before.devices.includes(id));
  if (kind === 'device' && !isOwn) return { after: before, outcome: 'foreign-device' };
  if (before === undefined && update.kind === 'device') return { after: before, outcome: 'applied' };
  const joining = (isOwn || kind === 'secret') && named[0] !== undefined ? [named[0]] : [];
  const known = before ?? {
    texts: { firstName: '', lastName: '', email: '', avatar: '' },
    properties: [],
    groups: [],
    ids: [],
    devices: [],
    createdAtMs: update.atMs,
    updatedAtMs: update.atMs,
  };
  const { content, outcome } = contentOf(known, update);
  if (content === undefined) return { after: before, outcome };
  const isKnown = joining.every((id) => known.devices.includes(id));
  const devices = isKnown ? known.devices : [...known.devices, ...joining].slice(-20);
  const after = { ...known, ...content, devices };
  if (before !== undefined && update.updateId === '' && JSON.stringify(after) === JSON.stringify(before))
    return { after: before, outcome };
  return {
    after: {
      ...after,
      ids: update.updateId === '' ? known.ids : [...known.ids, update.updateId].slice(-64),
      updatedAtMs: update.kind === 'device' ? known.updatedAtMs : Math.max(known.updatedAtMs, update.atMs),
    },
    outcome,
  };
}

function contentOf(
  known: ReferenceProfile,
  update: Update,
): { readonly content: Partial<ReferenceProfile> | undefined; readonly outcome: string } {
  if (update.kind === 'device') return { content: {}, outcome: 'applied' };
  if (update.kind === 'assign') {
    const groups = [...known.groups];
    for (const group of update.groups) if (!groups.includes(group)) groups.push(group);
    return {
      content: { groups: groups.slice(0, 1000) },
      outcome: groups.length > 1000 ? 'over-cap' : 'applied',
    };
  }
  if (update.kind === 'step') return stepped(known, update);
  const texts = { ...known.texts };
  for (const name of ['firstName', 'lastName', 'email', 'avatar'] as const) {
    const given = update[name];
    if (given !== undefined) texts[name] = given;
  }
  let properties = known.properties;
  let outcome = 'applied';
  for (let index = 0; index < update.properties.length; index += 2) {
    const property = [
      (update.properties[index] ?? '').split('.'),
      update.properties[index + 1] ?? '',
    ] as const;
    const merged = withProperty(properties, property);
    if (merged.length > 512) outcome = 'over-cap';
    else properties = merged;
  }
  return { content: { texts, properties }, outcome };
}

function withProperty(properties: readonly Property[], [path, value]: Property): readonly Property[] {
  if (properties.some(([other]) => isSamePath(other, path)))
    return properties.map((property) => (isSamePath(property[0], path) ? [path, value] : property));
  return [...properties.filter(([other]) => !isOnOnePath(other, path)), [path, value]];
}

function stepped(known: ReferenceProfile, update: StepUpdate) {
  const path = update.property.split('.');
  const found = known.properties.find(([other]) => isSamePath(other, path));
  const isBlocked = known.properties.some(([other]) => !isSamePath(other, path) && isOnOnePath(other, path));
  const number = found?.[1] ?? '0';
  if (
    isBlocked ||
    number.length > 64 ||
    update.step.length > 64 ||
    !/^-?\d+(\.\d+)?(e[+-]?\d{1,3})?$/.test(number)
  )
    return { content: undefined, outcome: 'not-a-number' };
  const sum = textOf(scaled(number) + scaled(update.step));
  if (sum.length > 64) return { content: undefined, outcome: 'not-a-number' };
  const properties = withProperty(known.properties, [path, sum]);
  if (properties.length > 512) return { content: undefined, outcome: 'over-cap' };
  return { content: { properties }, outcome: 'applied' };
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && isOnOnePath(a, b);
}

/** One of the two is the beginning of the other. */
function isOnOnePath(a: readonly string[], b: readonly string[]): boolean {
  return a.every((name, index) => index >= b.length || name === b[index]);
}

const SCALE = 1100;

/** A number in units of 10 to the minus 1100: enough for every number of at most 64 characters. */
function scaled(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(SCALE - fraction.length + Number(exponent));
}

function textOf(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(SCALE + 1, '0');
  const plain = `${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`.replace(/\.?0+$/, '');
  return units < 0n ? `-${plain}` : plain;
}
