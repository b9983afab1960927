/** The value of a setting, or the problem of its text. */
export type ParsedSetting<Value> = { readonly value: Value } | { readonly problem: string };

/**
 * Reads the text of a setting. These few lines are not zod, because the launcher would hold zod in memory as long as the service runs: 10 MB
 * beside the 12 MB of its own.
 */
export type SettingSchema<Value> = (text: string) => ParsedSetting<Value>;

/** A row of the settings table. */
export interface Setting {
  readonly schema: SettingSchema<unknown>;
  readonly default: string;
  /** One line on when to change it. */
  readonly help: string;
}

export const anyText: SettingSchema<string> = (value) => ({ value });

export function integer(min: number, max: number): SettingSchema<number> {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return { value };
    return { problem: `"${text}" is not a whole number from ${min} to ${max}` };
  };
}

/** `problem` does not show the text, which may be a secret. */
export function matching(pattern: RegExp, problem: string): SettingSchema<string> {
  return (text) => (pattern.test(text) ? { value: text } : { problem });
}

export function oneOf<const Value extends string>(values: readonly Value[]): SettingSchema<Value> {
  return (text) => {
    const value = values.find((known) => known === text);
    return value === undefined ? { problem: `"${text}" is not one of ${values.join(', ')}` } : { value };
  };
}
