import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ProjectShown } from '../../../../manage/project-api.ts';
import {
  FORM_SECTIONS,
  type FormSection,
  type SettingKind,
  SITE_FILTERS,
  SITE_SETTINGS,
  type SiteSetting,
} from '../../../../manage/site-settings.ts';
import { look } from '../../data/address.ts';
import { useSaving } from '../../data/saving.ts';
import { AnswerError, askVersion, type Versioned } from '../../data/service.ts';
import { reloadSession } from '../../data/session.ts';
import { ChoiceField, LinesField, linesIn, SwitchField, TextField } from '../../parts/fields.tsx';
import { Form } from '../../parts/form.tsx';
import { Failure, Loading } from '../../parts/notice.tsx';

type Stored = Versioned<{ readonly data: ProjectShown }>;
/** The contents of the form by the name of the setting: texts as typed, and switches. */
type Draft = Readonly<Record<string, string | boolean>>;

const SECTIONS = Object.entries(FORM_SECTIONS) as [FormSection, string | undefined][];
const FIELDS: readonly (readonly [name: string, setting: SiteSetting])[] = [
  ...Object.entries(SITE_SETTINGS),
  ...Object.entries(SITE_FILTERS).map(([name, setting]) => [`filters.${name}`, setting] as const),
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
        {SECTIONS.map(([section, title]) => {
          const fields = FIELDS.map(([name, { kind, field }]) =>
            field?.section === section ? (
              <SettingField
                key={name}
                {...{ name, kind, field, problem }}
                value={value[name] ?? ''}
                onInput={(next) => {
                  draft.value = { ...value, [name]: next };
                }}
              />
            ) : null,
          );
          if (title === undefined) return fields;
          return (
            <fieldset key={section}>
              <legend>{title}</legend>
              {fields}
            </fieldset>
          );
        })}
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

interface SettingFieldProps {
  readonly name: string;
  readonly kind: SettingKind;
  readonly field: NonNullable<SiteSetting['field']>;
  readonly value: string | boolean;
  readonly problem: AnswerError | undefined;
  readonly onInput: (value: string | boolean) => void;
}

function SettingField({ name, kind, field, value, problem, onInput }: SettingFieldProps) {
  const { section: _, ...words } = field;
  if (kind === 'switch') return <SwitchField {...words} isOn={value === true} onSwitch={onInput} />;
  const common = { ...words, name, problem, value: String(value) };
  if (kind === 'currency') {
    const codes = [...new Set([common.value, ...Intl.supportedValuesOf('currency')])];
    return <ChoiceField {...common} choices={codes.map((code) => [code, code])} onChoose={onInput} />;
  }
  if (isList(kind)) return <LinesField {...common} onInput={onInput} />;
  return (
    <TextField
      {...common}
      type={isNumber(kind) ? 'number' : 'text'}
      isRequired={kind === 'name'}
      {...(kind === 'timezone' && { suggestions: Intl.supportedValuesOf('timeZone') })}
      onInput={onInput}
    />
  );
}

function isNumber(kind: SettingKind): boolean {
  return kind === 'days' || kind === 'eventRate' || kind === 'share';
}

function isList(kind: SettingKind): boolean {
  return !['switch', 'name', 'domain', 'timezone', 'currency'].includes(kind) && !isNumber(kind);
}

function draftOf(site: ProjectShown): Draft {
  const values = new Map(Object.entries({ ...site, ...prefixed(site.filters) }));
  return Object.fromEntries(FIELDS.map(([name]) => [name, typed(values.get(name))]));
}

function prefixed(filters: ProjectShown['filters']): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(filters).map(([name, list]) => [`filters.${name}`, list]));
}

/** A value as it is typed: one entry a line, and nothing for null. */
function typed(value: unknown): string | boolean {
  if (typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

/** The typed value, as a request says it. */
function requestedOf(kind: SettingKind, draft: string | boolean | undefined): unknown {
  if (typeof draft !== 'string') return draft;
  if (isList(kind)) return linesIn(draft);
  if (draft === '' && (kind === 'domain' || isNumber(kind))) return null;
  return isNumber(kind) ? Number(draft) : draft;
}

/** The differences from the stored settings, as a change of them. */
function changeOf(site: ProjectShown, draft: Draft): object {
  const before = draftOf(site);
  const changed = FIELDS.filter(([name]) => draft[name] !== before[name]).map(
    ([name, { kind }]) => [name, requestedOf(kind, draft[name])] as const,
  );
  const isFilter = (name: string) => name.startsWith('filters.');
  const filters = changed.filter(([name]) => isFilter(name));
  return {
    ...Object.fromEntries(changed.filter(([name]) => !isFilter(name))),
    ...(filters.length > 0 && {
      filters: Object.fromEntries(filters.map(([name, list]) => [name.slice('filters.'.length), list])),
    }),
  };
}
