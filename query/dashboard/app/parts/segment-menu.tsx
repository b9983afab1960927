import { go, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { addressOf } from '../data/service.ts';
import { signedIn } from '../data/session.ts';

/** Chooses a segment, which filters everything. Absent where the site has none. */
export function SegmentMenu() {
  const isRoot = signedIn.value?.role === 'root';
  const { answer } = useAnswer<{ readonly data: readonly { readonly id: string; readonly name: string }[] }>(
    isRoot ? addressOf(`manage/projects/${encodeURIComponent(look.value.site)}/segments`) : undefined,
  );
  const { segment = '' } = look.value;
  const names = [...new Set([...(answer?.data.map(({ name }) => name) ?? []), segment])].filter(
    (name) => name !== '',
  );
  if (names.length === 0) return null;
  return (
    <select
      class="narrow"
      aria-label="Segment"
      value={segment}
      onChange={(event) => go({ segment: event.currentTarget.value || undefined })}
    >
      <option value="">Everybody</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
