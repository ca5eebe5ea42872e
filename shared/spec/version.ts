/** The version of the interface (spec: Versioning). */
export const VERSION = '2.0.0';
