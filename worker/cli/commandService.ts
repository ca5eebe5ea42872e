import type { Writable } from 'node:stream';
import { parseConfig, type ProcessKind } from '../../shared/lib/config.ts';
import { requireNewestCatalog } from '../../shared/domain/catalog/releases.ts';
import { withLocalService } from '../../shared/lib/localService.ts';
import { openService, type Service } from '../../shared/service.ts';

/**
 * Opens the service for a command line. Without configured databases it uses those of the service that runs on this
 * machine. Logs go to stderr, because stdout contains the output of the command.
 * @throws ConfigError if the CATALOG of an admin command is not the one that was released last.
 */
export async function openCommandService(
  environment: Record<string, string | undefined>,
  kind: ProcessKind,
  stderr: Writable = process.stderr,
): Promise<Service> {
  const env = withLocalService(environment, ({ baseUrl }) => {
    stderr.write(`Using the databases of the local service: ${baseUrl}\n`);
  });
  const service = await openService(parseConfig(env, kind), { log: stderr, usesUpstreams: false });
  try {
    if (kind === 'admin') await requireNewestCatalog();
  } catch (error) {
    await service.close();
    throw error;
  }
  return service;
}
