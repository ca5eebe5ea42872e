import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';

/** The origin of BASE_URL. Requests that change something with a cookie are accepted from pages of this origin only. */
export const serviceOrigin = perService(() => new URL(config.BASE_URL).origin);
