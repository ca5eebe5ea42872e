// A thread does not inherit tsx on Node 20, and may inherit it on later ones: it is started bare and registers tsx
// itself.
import { register } from 'tsx/esm/api';

register();
await import('./renderWorker.ts');
