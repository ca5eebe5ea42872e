import { startSampleUpstream } from './server.ts';

// A separate process, independent of the service's configuration: it reads its few settings itself.
const { PORT, SAMPLE_HOST, TEST_UPSTREAM_URL, SAMPLE_DELAY_MS, SAMPLE_DATA_DIR } = process.env;

void main();

async function main(): Promise<void> {
  const upstream = await startSampleUpstream({
    port: Number(PORT || 0),
    host: SAMPLE_HOST || undefined,
    // As the upstream of test mode it may have another address than the one on which it listens.
    publicUrl: TEST_UPSTREAM_URL || undefined,
    delayMs: Number(SAMPLE_DELAY_MS || 1500),
    dataDir: SAMPLE_DATA_DIR || undefined,
  });
  console.log(JSON.stringify({ listening: upstream.url }));

  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) return;
      isStopping = true;
      void upstream.stop().then(() => process.exit(0));
    });
  }
}
