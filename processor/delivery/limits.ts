/** What is worked off at once. Tests set them low. */
export interface DeliveryLimits {
  /** A step ends with the hour that exceeds this many rows: so much is done again after a crash. */
  readonly stepRows: number;
  /** Hours of a step at the most, so that its record stays small when events are strewn over years. */
  readonly stepHours: number;
  readonly fileRows: number;
  /** A file is one buffer in memory: its hash is in its name, and its length is told first. */
  readonly fileBytes: number;
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  stepRows: 500_000,
  stepHours: 500,
  fileRows: 200_000,
  fileBytes: 33_554_432,
};
