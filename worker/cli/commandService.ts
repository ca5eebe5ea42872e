import { parseConfig, type ProcessKind } from '../../shared/lib/config.ts';
import { withLocalService } from '../../shared/lib/localService.ts';
import { openService, type Service } from '../../shared/service.ts';

/**
 * Opens the service for a command line. Without configured databases it uses those of the service that runs on this
 * machine. Logs go to stderr, because stdout contains the output of the command.
 */
export function openCommandService(
  environment: Record<string, string | undefined>,
  kind: ProcessKind,
): Promise<Service> {
  const env = withLocalService(environment, ({ baseUrl }) => {
    process.stderr.write(`Using the databases of the local service at ${baseUrl}.\n`);
  });
  return openService(parseConfig(env, kind), { log: process.stderr });
}
