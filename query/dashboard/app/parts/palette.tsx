import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { VIEWS } from '../pages/views.ts';
import { commandsNow, keyName } from './commands.ts';
import { useFound } from './found.ts';
import { Modal } from './modal.tsx';

const PAUSE_MS = 250;

/** Finds a command, a person, a page or an event by its name. The arrows choose, Enter runs. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const words = useSignal('');
  const asked = useSignal('');
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const chosen = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const wanted = words.value.toLowerCase().split(/\s+/);
  const named = commandsNow(VIEWS).filter(({ title, group }) =>
    wanted.every((word) => `${group} ${title}`.toLowerCase().includes(word)),
  );
  const found = [...named, ...useFound(asked.value)];
  const at = Math.min(chosen.value, found.length - 1);
  useEffect(() => {
    list.current?.children.item(at)?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const run = (index: number) => {
    const command = found[index];
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      run(at);
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || found.length === 0) return;
    event.preventDefault();
    chosen.value = (at + step + found.length) % found.length;
  };
  return (
    <Modal title="Commands" onClose={onClose} size="small">
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={found.length > 0 ? `command-${at}` : undefined}
        aria-label="Find a command"
        placeholder="View, period, person, page…"
        value={words.value}
        onKeyDown={onKeyDown}
        onInput={(event) => {
          words.value = event.currentTarget.value;
          chosen.value = 0;
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            asked.value = words.peek();
          }, PAUSE_MS);
        }}
      />
      <div
        class="choices commands"
        id="commands"
        role="listbox"
        aria-label="Commands"
        tabIndex={-1}
        ref={list}
      >
        {found.map(({ title, group, key }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys.
          <div
            key={`${group} ${title}`}
            id={`command-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => run(index)}
          >
            <span class="quiet command-group">{group}</span>
            <span>{title}</span>
            <span class="spread" />
            {key !== undefined && <kbd>{keyName(key)}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="notice quiet">Nothing has this name.</p>}
    </Modal>
  );
}
