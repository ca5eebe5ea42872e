import { parseConfig, type ProcessKind } from '../../shared/lib/config.ts';
import { withLocalService } from '../../shared/lib/localService.ts';
import { openService, type Service } from '../../shared/service.ts';

/**
 * Opens the service for a command that is run by hand. Where it is told no databases, it finds those of the service that
 * runs on this machine; its logs go to stderr, as stdout is its answer.
 */
export function openCommandService(
  environment: Record<string, string | undefined>,
  kind: ProcessKind,
): Promise<Service> {
  const env = withLocalService(environment, ({ baseUrl }) => {
    process.stderr.write(`Using the databases of the service at ${baseUrl}, which runs on this machine.\n`);
  });
  return openService(parseConfig(env, kind), { log: process.stderr });
}
