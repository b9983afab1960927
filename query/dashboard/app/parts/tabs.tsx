import { useRef } from 'preact/hooks';

interface TabWords {
  readonly id: string;
  readonly title: string;
}

/** Tabs, of which the arrows, Home and End choose one. */
export function Tabs({
  label,
  tabs,
  chosen,
  panelId,
  onChoose,
}: {
  readonly label: string;
  readonly tabs: readonly TabWords[];
  readonly chosen: string;
  /** The element that shows the chosen tab. */
  readonly panelId: string;
  readonly onChoose: (id: string) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const choose = (index: number) => {
    const tab = tabs.at(index % tabs.length);
    if (tab === undefined) return;
    onChoose(tab.id);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]').item(tabs.indexOf(tab)).focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ id }) => id === chosen);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {tabs.map(({ id, title }) => (
        <button
          type="button"
          role="tab"
          key={id}
          aria-selected={id === chosen}
          aria-controls={panelId}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
