/** A service of a test, or what has one. */
interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Starts a service before the tests of the suite, and stops it after them.
 * @returns the service for use in hooks and tests, which begin once it has started.
 */
export function useService<Service extends Stoppable>(start: () => Promise<Service>): Service {
  let service: Service;
  before(async () => {
    service = await start();
  });
  after(() => service?.stop());
  return new Proxy({} as Service, {
    get: (_, name) => {
      const value: unknown = Reflect.get(service, name);
      return typeof value === 'function' ? value.bind(service) : value;
    },
    set: (_, name, value) => Reflect.set(service, name, value),
  });
}
