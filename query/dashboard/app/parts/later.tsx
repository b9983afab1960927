import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Loading } from './notice.tsx';

/** A part whose code is loaded when it is first shown. A part that cannot be loaded says so. */
export function later<Given extends object>(load: () => Promise<ComponentType<Given>>): ComponentType<Given> {
  const loaded = signal<ComponentType<Given> | undefined>(undefined);
  const failed = signal(false);
  const attempt = () => {
    failed.value = false;
    load().then(
      (part) => {
        loaded.value = part;
      },
      () => {
        failed.value = true;
      },
    );
  };
  return function Later(given: Given) {
    useEffect(() => {
      if (loaded.peek() === undefined) attempt();
    }, []);
    const Part = loaded.value;
    if (Part !== undefined) return <Part {...given} />;
    if (!failed.value) return <Loading rows={3} />;
    return (
      <div class="notice" role="alert">
        <p>This part of the page could not be loaded.</p>
        <button type="button" class="button" onClick={attempt}>
          Load it again
        </button>
      </div>
    );
  };
}
