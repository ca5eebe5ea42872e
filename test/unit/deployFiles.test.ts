import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { build } from 'esbuild';
import { CORE_SCHEMA, load, loadAll, mergeTag } from 'js-yaml';
import { Environment } from '../../shared/lib/configVariables.ts';
import { HelmChart } from '../harness/helmTemplate.ts';

const ROOT = new URL('../../', import.meta.url);
const CHART = 'dev/deploy/helm/genmeter/';
const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8');

interface Resource {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec: any;
}

/** Renders the chart. @param change adjusts the default values. */
function renderChart(change: (values: any) => void = () => {}) {
  const values = load(read(`${CHART}values.yaml`)) as any;
  values.media = { bucket: 'outputs', cdnUrl: 'https://outputs.example.com' };
  change(values);
  const { appVersion } = load(read(`${CHART}Chart.yaml`)) as { appVersion: string };
  const root = {
    Values: values,
    Chart: { AppVersion: appVersion },
    Release: { Name: 'test', Service: 'Helm' },
  };
  const chart = new HelmChart(read(`${CHART}templates/_helpers.tpl`));
  const templates = readdirSync(new URL(`${CHART}templates`, ROOT)).filter((name) => name.endsWith('.yaml'));
  const resources = templates.flatMap(
    (name) => loadAll(chart.render(read(`${CHART}templates/${name}`), root)).filter(Boolean) as Resource[],
  );
  const byName = new Map(resources.map((resource) => [`${resource.kind} ${resource.metadata.name}`, resource]));
  return { names: [...byName.keys()], get: (name: string) => byName.get(name) ?? expect.fail(`${name} is missing`) };
}

/** Returns the address of the test upstream that a container has. */
const getUrl = ({ env }: any): string | undefined => env.find(({ name }: any) => name === 'TEST_UPSTREAM_URL')?.value;

describe('the Helm chart', () => {
  const procfile = read('Procfile');

  it('renders a release hook, web and worker with the commands of the Procfile', () => {
    const resources = renderChart();
    expect(resources.names).to.have.members([
      'Deployment test-web',
      'Deployment test-worker',
      'HorizontalPodAutoscaler test-web',
      'Job test-release',
      'NetworkPolicy test-web',
      'NetworkPolicy test-worker',
      'PodDisruptionBudget test-web',
      'PodDisruptionBudget test-worker',
      'Service test-web',
    ]);
    expect(resources.get('Job test-release').metadata.annotations).to.include({
      'helm.sh/hook': 'pre-install,pre-upgrade',
    });
    for (const name of ['Job test-release', 'Deployment test-web', 'Deployment test-worker']) {
      const [container] = resources.get(name).spec.template.spec.containers;
      // Not `command`, which would replace the entry point of the image: tini is process 1.
      expect(container).to.not.have.property('command');
      expect(procfile, name).to.include(`${container.name}: ${container.args.join(' ')}`);
      expect(container.image).to.equal('genmeter:2.0.0');
      const variables = container.env.map((variable: { name: string }) => variable.name);
      expect(Object.keys(Environment.properties)).to.include.members(variables);
      expect(variables).to.include.members(['NODE_ENV', 'METRICS_PORT']);
    }
  });

  it('runs the upstream of test mode without secrets, at the address that the other processes have, if that is enabled', () => {
    const resources = renderChart((values) => (values.testUpstream.enabled = true));
    const { spec } = resources.get('Deployment test-testupstream').spec.template;
    const [container] = spec.containers;
    expect(procfile).to.include(`${container.name}: ${container.args.join(' ')}`);
    expect(container).to.not.have.property('envFrom');
    const workers = resources.get('Deployment test-worker').spec.template.spec.containers[0];
    expect(getUrl(workers)).to.equal(getUrl(container));
    const service = resources.get('Service test-testupstream');
    expect(getUrl(container)).to.equal(`http://${service.metadata.name}`);
    const { template, selector } = resources.get('Deployment test-testupstream').spec;
    expect(service.spec.selector).to.deep.equal(selector.matchLabels);
    expect(template.metadata.labels).to.deep.equal(selector.matchLabels);
    expect(getUrl(renderChart().get('Deployment test-web').spec.template.spec.containers[0])).to.equal(undefined);
  });

  it('selects in each service, budget and deployment the pods of one component', () => {
    const resources = renderChart();
    for (const component of ['web', 'worker']) {
      const { selector, template } = resources.get(`Deployment test-${component}`).spec;
      expect(template.metadata.labels).to.deep.equal(selector.matchLabels);
      expect(selector.matchLabels).to.include({ 'app.kubernetes.io/component': component });
      expect(resources.get(`PodDisruptionBudget test-${component}`).spec.selector).to.deep.equal(selector);
    }
    const { selector } = resources.get('Deployment test-web').spec;
    expect(resources.get('Service test-web').spec.selector).to.deep.equal(selector.matchLabels);
  });

  it('gives every process longer to stop than it may take, and the memory that the heap limit is made for', () => {
    const resources = renderChart();
    for (const component of ['web', 'worker']) {
      const { spec } = resources.get(`Deployment test-${component}`).spec.template;
      const drain = spec.containers[0].env.find(({ name }: { name: string }) => name === 'DRAIN_MS');
      const drainSeconds = component === 'web' ? Number(drain.value) / 1_000 : 0;
      expect(spec.terminationGracePeriodSeconds).to.be.at.least(25 + drainSeconds + 5);
      expect(spec.containers[0].resources.limits).to.deep.equal({ memory: '512Mi' });
      expect(spec.containers[0].securityContext).to.include({ readOnlyRootFilesystem: true });
    }
  });

  it('mounts no token of the cluster, spreads pods over nodes, and admits only the connections that each pod serves', () => {
    const resources = renderChart((values) => {
      values.testUpstream.enabled = true;
      values.networkPolicy.webFrom = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }];
    });
    for (const component of ['web', 'worker', 'testupstream']) {
      const { selector, template } = resources.get(`Deployment test-${component}`).spec;
      expect(template.spec.automountServiceAccountToken, component).to.equal(false);
      const { podSelector, policyTypes, ingress } = resources.get(`NetworkPolicy test-${component}`).spec;
      expect(podSelector, component).to.deep.equal(selector);
      const served = component === 'worker' ? ['metrics'] : component === 'web' ? ['http', 'metrics'] : ['http'];
      expect(ingress.map(({ ports }: any) => ports[0].port)).to.deep.equal(served);
      expect(policyTypes.includes('Egress')).to.equal(component === 'testupstream');
      for (const rule of ingress) expect(rule.from, component).to.have.length(1);
      if (component === 'testupstream') continue;
      const [spread] = template.spec.topologySpreadConstraints;
      expect(spread.labelSelector, component).to.deep.equal(selector);
    }
    expect(resources.get('Job test-release').spec.template.spec.automountServiceAccountToken).to.equal(false);
    const names = renderChart((values) => (values.networkPolicy.enabled = false)).names;
    expect(names.filter((name) => name.startsWith('NetworkPolicy'))).to.deep.equal([]);
  });

  it('takes a web process out of service only while it stops, and restarts web and worker only when they hang', () => {
    const [web] = renderChart().get('Deployment test-web').spec.template.spec.containers;
    const paths = [web.readinessProbe, web.livenessProbe].map(({ httpGet }) => httpGet.path);
    expect(paths).to.deep.equal(['/api/serving/', '/api/health/']);
    const [worker] = renderChart().get('Deployment test-worker').spec.template.spec.containers;
    const health = { path: '/health', port: 'metrics' };
    expect([worker.livenessProbe.httpGet, worker.startupProbe.httpGet]).to.deep.equal([health, health]);
    expect(worker).to.not.have.property('readinessProbe');
    const proxy = read('dev/deploy/haproxy.cfg');
    expect(proxy).to.include('httpchk GET /api/serving/');
    // Any other condition would send a create again that may have been charged.
    expect(proxy.match(/retry-on .*/g)).to.deep.equal(['retry-on conn-failure']);
  });

  it('is not rendered without a bucket, since pods have no permanent disk', () => {
    expect(() => renderChart((values) => (values.media.bucket = ''))).to.throw('Set media.bucket');
    expect(() => renderChart((values) => (values.media.cdnUrl = ''))).to.throw('Set media.cdnUrl');
  });

  it('gives each process its own variables, the release step its own database address, and all pods more volumes', () => {
    const resources = renderChart((values) => {
      values.web.env = { OTEL_SERVICE_NAME: 'genmeter-web' };
      values.worker.env = { OTEL_SERVICE_NAME: 'genmeter-worker' };
      values.release.databaseSecretName = 'direct';
      values.extraVolumes = [{ name: 'ca', secret: { secretName: 'ca' } }];
      values.extraVolumeMounts = [{ name: 'ca', mountPath: '/ca' }];
    });
    const own = (name: string) => {
      const { containers, volumes } = resources.get(name).spec.template.spec;
      expect(volumes, name).to.deep.include({ name: 'ca', secret: { secretName: 'ca' } });
      expect(containers[0].volumeMounts, name).to.deep.include({ name: 'ca', mountPath: '/ca' });
      return containers[0].env.at(-1);
    };
    expect(own('Deployment test-web')).to.deep.equal({ name: 'OTEL_SERVICE_NAME', value: 'genmeter-web' });
    expect(own('Deployment test-worker')).to.deep.equal({ name: 'OTEL_SERVICE_NAME', value: 'genmeter-worker' });
    expect(own('Job test-release')).to.deep.equal({
      name: 'DATABASE_URL',
      valueFrom: { secretKeyRef: { name: 'direct', key: 'DATABASE_URL' } },
    });
  });

  it('scales workers by the age of the oldest job, and monitors all pods, if that is enabled', () => {
    const resources = renderChart((values) => {
      values.web.autoscaling.enabled = false;
      values.worker.autoscaling.enabled = true;
      values.metrics.podMonitor = true;
      values.image.tag = '9.9.9';
      values.imagePullSecrets = [{ name: 'registry' }];
    });
    expect(resources.names).to.not.include('HorizontalPodAutoscaler test-web');
    expect(resources.get('Deployment test-web').spec.replicas).to.equal(2);
    const worker = resources.get('Deployment test-worker').spec;
    expect(worker).to.not.have.property('replicas');
    expect(worker.template.spec.imagePullSecrets).to.deep.equal([{ name: 'registry' }]);
    expect(worker.template.spec.containers[0].image).to.equal('genmeter:9.9.9');
    const scaler = resources.get('ScaledObject test-worker').spec;
    expect(scaler.scaleTargetRef.name).to.equal('test-worker');
    expect(scaler.triggers[0].metadata).to.include({
      query: 'max(genmeter_queue_oldest_job_seconds)',
      threshold: '10',
    });
    expect(resources.get('PodMonitor test').spec.selector.matchLabels).to.deep.equal({
      'app.kubernetes.io/name': 'genmeter',
      'app.kubernetes.io/instance': 'test',
    });
  });
});

describe('compose.yaml', () => {
  const { services } = load(read('compose.yaml'), { schema: CORE_SCHEMA.withTags(mergeTag) }) as {
    services: Record<string, any>;
  };

  it('publishes a port of the proxy only, so that the API can be scaled', () => {
    const published = Object.keys(services).filter((name) => services[name].ports !== undefined);
    expect(published).to.deep.equal(['proxy']);
    const [, file] = /^\.\/(\S+):\//.exec(services['proxy'].volumes[0]) ?? [];
    const proxy = read(file as string);
    expect(proxy).to.include('api:3000').and.to.include('bind :3000').and.to.include('option forwardfor');
    expect(services['api'].environment.TRUSTED_PROXIES).to.equal('${COMPOSE_TRUSTED_PROXIES:-1}');
  });

  it('limits the memory of every service that keeps running', () => {
    for (const [name, service] of Object.entries(services)) expect(service.mem_limit, name).to.match(/^\d+[mg]$/);
  });

  it('sets only variables that the service reads', () => {
    const names = Object.keys(services['api'].environment);
    expect(Object.keys(Environment.properties)).to.include.members(names);
  });
});

describe('the container image', () => {
  const dockerfile = read('Dockerfile');

  it('has OCI labels, a process 1 that reaps children, and runs as an unprivileged user', () => {
    for (const label of ['title', 'description', 'version', 'revision'])
      expect(dockerfile).to.include(`org.opencontainers.image.${label}=`);
    expect(dockerfile).to.include('ENTRYPOINT ["/usr/bin/tini", "--"]');
    expect(dockerfile).to.match(/^USER node$/m);
  });

  it('copies every file that its build steps run and import', async () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    const steps = `${dockerfile} ${(JSON.parse(read('package.json')) as { scripts: { build: string } }).scripts.build}`;
    const scripts = [...steps.matchAll(/node (?:--import tsx )?(dev\/\S+\.(?:mjs|ts))/g)].map(([, file = '']) => file);
    expect(scripts).to.have.members(['dev/slimModules.mjs', 'dev/build/main.ts']);
    const { metafile } = await build({
      absWorkingDir: fileURLToPath(ROOT),
      entryPoints: scripts,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      metafile: true,
      write: false,
      outdir: 'out',
    });
    const isCopied = (file: string) => copied.some((path) => file === path || file.startsWith(`${path}/`));
    expect(Object.keys(metafile.inputs).filter((file) => !isCopied(file))).to.deep.equal([]);
    expect(copied).to.include('Procfile');
  });
});
