/** Limits of the work at a time. Tests set them low. */
export interface DeliveryLimits {
  /** A step ends with the hour that exceeds this many rows, which limits the repeated work after a crash. */
  readonly stepRows: number;
  /** Maximum hours in a step, so that its record stays small when events are spread over years. */
  readonly stepHours: number;
  readonly fileRows: number;
  /** A file is one buffer in memory, because its name holds its hash and its length is sent first. */
  readonly fileBytes: number;
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  stepRows: 500_000,
  stepHours: 500,
  fileRows: 200_000,
  fileBytes: 33_554_432,
};
