/** Version of the package, which is that of the interface of the service. */
export const VERSION = '2.0.0';
