/** Colours of the widget where a page sets none. What is not named here has the colour of the text around it. */
export const PRESET_COLORS = {
  dot: '#22a35a',
  badgeText: '#ffffff',
  badgeBackground: '#14532d',
  badgeDot: '#4ade80',
} as const;
