// Runs js-redis-server: `node memoryRedis.mjs PORT`. Plain JavaScript, so that a bare Node can run it by itself.
import net from 'node:net';
import { createRedisServer } from 'js-redis-server';

// It would listen on all interfaces and has no option for one: without a password that is an open door.
const listenAnywhere = Reflect.get(net.Server.prototype, 'listen');
net.Server.prototype.listen = function listenLocally(port) {
  return Reflect.apply(listenAnywhere, this, [{ port, host: '127.0.0.1' }]);
};

const { server } = await createRedisServer({ port: Number(process.argv[2]), logger: console });
console.log(`js-redis-server listens at ${server.getAddress()}`);
// Nothing is to be saved, and a client that stays connected must not hold it.
process.once('SIGTERM', () => process.exit(0));
