import { useEffect, useRef } from 'preact/hooks';

const PAUSE_MS = 250;

/** A field whose text is used a moment after the last key. */
export function SearchField({
  label,
  value,
  onSearch,
}: {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    // Back, and links, change it from outside.
    if (field.current !== null && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  return (
    <input
      type="search"
      class="search"
      ref={field}
      aria-label={label}
      placeholder={label}
      defaultValue={value}
      onInput={(event) => {
        const text = event.currentTarget.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onSearch(text), PAUSE_MS);
      }}
    />
  );
}
