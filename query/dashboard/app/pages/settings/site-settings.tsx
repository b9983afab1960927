import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ProjectShown } from '../../../../manage/project-api.ts';
import { look } from '../../data/address.ts';
import { useSaving } from '../../data/saving.ts';
import { AnswerError, askVersion, type Versioned } from '../../data/service.ts';
import { reloadSession } from '../../data/session.ts';
import { ChoiceField, LinesField, linesIn, SwitchField, TextField } from '../../parts/fields.tsx';
import { Form } from '../../parts/form.tsx';
import { Failure, Loading } from '../../parts/notice.tsx';

type Stored = Versioned<{ readonly data: ProjectShown }>;
/** The contents of the form: texts as typed. */
interface Draft {
  readonly name: string;
  readonly domain: string;
  readonly timezone: string;
  readonly currency: string;
  readonly cors: string;
  readonly retentionDays: string;
  readonly eventsPerSecondMax: string;
  readonly addresses: string;
  readonly profileIds: string;
  readonly names: string;
  readonly paths: string;
  readonly switches: Readonly<Record<SwitchName, boolean>>;
}

const SWITCHES = {
  screenViews: ['Page views', 'The script sends a view for every address that a page shows.'],
  outgoingLinks: ['Clicks on links to other sites', undefined],
  attributes: ['Clicks on elements with data-track', undefined],
  hashChanges: ['Changes behind # count as views', undefined],
  filterReferrerSpam: ['Drop known referrer spam', undefined],
  allowUnsafeRevenue: [
    'Browsers may send revenue',
    'Anybody can send any amount then. Servers with a secret always may.',
  ],
  allowUnsafeAliases: ['Browsers may join two ids of a person', 'Anybody who knows an id can do it then.'],
  allowUnsafeIdentify: ['Browsers may describe a person', 'Anybody who knows an id can do it then.'],
  publicWidget: ['Anybody may see the live number', 'Needed by the widget on a page without a token.'],
  feed: ['Event feed', 'Every event is published on the bus, for programs that follow it.'],
} as const satisfies Record<string, readonly [title: string, hint: string | undefined]>;
type SwitchName = keyof typeof SWITCHES;
const GROUPS: readonly (readonly [title: string, names: readonly SwitchName[]])[] = [
  ['What the script records', ['screenViews', 'outgoingLinks', 'attributes', 'hashChanges']],
  [
    'What is trusted',
    ['allowUnsafeRevenue', 'allowUnsafeAliases', 'allowUnsafeIdentify', 'filterReferrerSpam'],
  ],
  ['What is public', ['publicWidget', 'feed']],
];

/** All settings of the site. Concurrent changes are not lost: the second person is notified. */
export function SiteSettings() {
  const stored = useSignal<Stored | undefined>(undefined);
  const failure = useSignal<AnswerError | undefined>(undefined);
  const draft = useSignal<Draft | undefined>(undefined);
  const saving = useSaving();
  const address = `manage/projects/${encodeURIComponent(look.value.site)}`;
  const take = (version: Stored) => {
    stored.value = version;
    draft.value = draftOf(version.answer.data);
  };
  const load = async () => {
    failure.value = undefined;
    saving.clear();
    try {
      take(await askVersion(address));
    } catch (error) {
      failure.value = error instanceof AnswerError ? error : new AnswerError(0, String(error));
    }
  };
  useEffect(() => void load(), [address]);
  const { value } = draft;
  if (failure.value !== undefined) return <Failure error={failure.value} retry={() => void load()} />;
  if (value === undefined || stored.value === undefined) return <Loading rows={8} />;
  const before = stored.value;
  const set = (change: Partial<Draft>) => {
    draft.value = { ...value, ...change };
  };
  const save = () =>
    saving.run(async () => {
      const body = changeOf(before.answer.data, value);
      take(await askVersion(address, { method: 'PATCH', body, ifMatch: before.version }));
      await reloadSession();
    });
  const { problem } = saving;
  return (
    <section class="card" aria-labelledby="site-title">
      <h2 id="site-title">Site</h2>
      <Form saving={saving} action="Save" label="Settings of the site" onSubmit={() => void save()}>
        <TextField
          label="Name"
          name="name"
          isRequired
          value={value.name}
          problem={problem}
          onInput={(name) => set({ name })}
        />
        <TextField
          label="Domain"
          name="domain"
          value={value.domain}
          problem={problem}
          onInput={(domain) => set({ domain })}
        />
        <TextField
          label="Time zone"
          name="timezone"
          hint="Days, weeks and months of all figures are those of this zone, of the past as well."
          suggestions={Intl.supportedValuesOf('timeZone')}
          value={value.timezone}
          problem={problem}
          onInput={(timezone) => set({ timezone })}
        />
        <ChoiceField
          label="Currency"
          name="currency"
          value={value.currency}
          choices={[...new Set([value.currency, ...Intl.supportedValuesOf('currency')])].map((code) => [
            code,
            code,
          ])}
          problem={problem}
          onChoose={(currency) => set({ currency })}
        />
        <LinesField
          label="Origins that browsers may send from"
          name="cors"
          hint="One a line, such as https://example.com or *.example.com."
          value={value.cors}
          problem={problem}
          onInput={(cors) => set({ cors })}
        />
        {GROUPS.map(([title, names]) => (
          <fieldset key={title}>
            <legend>{title}</legend>
            {names.map((name) => {
              const [label, hint] = SWITCHES[name];
              return (
                <SwitchField
                  key={name}
                  label={label}
                  {...(hint !== undefined && { hint })}
                  isOn={value.switches[name]}
                  onSwitch={(isOn) => set({ switches: { ...value.switches, [name]: isOn } })}
                />
              );
            })}
          </fieldset>
        ))}
        <fieldset>
          <legend>What is not recorded</legend>
          <LinesField
            label="Addresses and ranges of addresses"
            name="filters.addresses"
            value={value.addresses}
            problem={problem}
            onInput={(addresses) => set({ addresses })}
          />
          <LinesField
            label="Ids of people"
            name="filters.profileIds"
            value={value.profileIds}
            problem={problem}
            onInput={(profileIds) => set({ profileIds })}
          />
          <LinesField
            label="Names of events"
            name="filters.names"
            value={value.names}
            problem={problem}
            onInput={(names) => set({ names })}
          />
          <LinesField
            label="Paths"
            name="filters.paths"
            hint="* stands for any characters, as in /admin*."
            value={value.paths}
            problem={problem}
            onInput={(paths) => set({ paths })}
          />
        </fieldset>
        <TextField
          label="Days for which events are kept"
          name="retentionDays"
          type="number"
          hint="Empty: without end."
          value={value.retentionDays}
          problem={problem}
          onInput={(retentionDays) => set({ retentionDays })}
        />
        <TextField
          label="Most events a second"
          name="eventsPerSecondMax"
          type="number"
          hint="Empty: no limit. Beyond it, senders are told to wait."
          value={value.eventsPerSecondMax}
          problem={problem}
          onInput={(eventsPerSecondMax) => set({ eventsPerSecondMax })}
        />
        {problem?.status === 412 && (
          <p>
            Somebody changed these settings meanwhile.{' '}
            <button type="button" class="plain" onClick={() => void load()}>
              Load them again
            </button>
          </p>
        )}
      </Form>
    </section>
  );
}

function draftOf(site: ProjectShown): Draft {
  return {
    name: site.name,
    domain: site.domain ?? '',
    timezone: site.timezone,
    currency: site.currency,
    cors: site.cors.join('\n'),
    retentionDays: site.retentionDays === null ? '' : String(site.retentionDays),
    eventsPerSecondMax: site.eventsPerSecondMax === null ? '' : String(site.eventsPerSecondMax),
    addresses: site.filters.addresses.join('\n'),
    profileIds: site.filters.profileIds.join('\n'),
    names: site.filters.names.join('\n'),
    paths: site.filters.paths.join('\n'),
    switches: Object.fromEntries(switchNames().map((name) => [name, site[name]])) as Draft['switches'],
  };
}

/** The differences from the stored settings, as a change of them. */
function changeOf(site: ProjectShown, draft: Draft): object {
  const before = draftOf(site);
  const {
    switches,
    addresses,
    profileIds,
    names,
    paths,
    cors,
    domain,
    retentionDays,
    eventsPerSecondMax,
    ...texts
  } = draft;
  const isChanged = (name: keyof Draft) => draft[name] !== before[name];
  const number = (text: string) => (text === '' ? null : Number(text));
  const filters = Object.entries({ addresses, profileIds, names, paths }).filter(([name]) =>
    isChanged(name as keyof Draft),
  );
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([name]) => isChanged(name as keyof Draft))),
    ...(isChanged('domain') && { domain: domain === '' ? null : domain }),
    ...(isChanged('cors') && { cors: linesIn(cors) }),
    ...(isChanged('retentionDays') && { retentionDays: number(retentionDays) }),
    ...(isChanged('eventsPerSecondMax') && { eventsPerSecondMax: number(eventsPerSecondMax) }),
    ...Object.fromEntries(
      switchNames()
        .filter((name) => switches[name] !== before.switches[name])
        .map((name) => [name, switches[name]]),
    ),
    ...(filters.length > 0 && {
      filters: Object.fromEntries(filters.map(([name, text]) => [name, linesIn(text)])),
    }),
  };
}

function switchNames(): readonly SwitchName[] {
  return Object.keys(SWITCHES) as SwitchName[];
}
