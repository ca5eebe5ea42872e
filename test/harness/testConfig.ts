import { parseConfig, setConfig } from '../../shared/lib/config.ts';
import { resetServiceScope } from '../../shared/lib/serviceScope.ts';

/** Sets the configuration for tests of modules alone, without a service. Nothing connects. */
export function setTestConfig(env: Record<string, string> = {}): void {
  resetServiceScope();
  setConfig(parseConfig({ DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host:6379', ...env }));
}
