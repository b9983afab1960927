/** Colours of the widget where a page sets none. Parts that are not named here have the colour of the surrounding text. */
export const PRESET_COLORS = {
  dot: '#22a35a',
  badgeText: '#ffffff',
  badgeBackground: '#14532d',
  badgeDot: '#4ade80',
} as const;
