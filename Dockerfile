# One image for all processes: web unless another command is given.
#   docker build -t genmeter --build-arg GIT_COMMIT=$(git rev-parse --short HEAD) .
#   docker run genmeter node dist/migrations/main.js     # release
#   docker run -p 3000:3000 genmeter                      # web
#   docker run genmeter node --no-allocation-site-pretenuring --no-parallel-scavenge --v8-pool-size=1 --max-semi-space-size=8 --max-old-space-size=160 dist/worker/main.js
#   docker run genmeter node --max-old-space-size=256 dist/dev/sampleUpstream/main.js   # testupstream, for test mode

FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY dev/slimModules.mjs dev/
COPY Procfile ./
COPY dev/build dev/build
COPY dev/local/environment dev/local/environment
COPY shared shared
COPY api api
COPY worker worker
COPY migrations migrations
COPY docs docs
COPY dev/sampleUpstream dev/sampleUpstream
COPY packages packages
RUN npm run build && npm prune --omit=dev --ignore-scripts && node dev/slimModules.mjs

FROM node:22-slim
# As process 1, tini ends processes that a killed child leaves behind, such as a decoder of thumbnails.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ARG VERSION=2.0.0
ARG GIT_COMMIT=unknown
LABEL org.opencontainers.image.title="genmeter" \
      org.opencontainers.image.description="Credit-metered video and image generation" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$GIT_COMMIT" \
      org.opencontainers.image.base.name="docker.io/library/node:22-slim"
ENV NODE_ENV=production MEDIA_DIR=/media PORT=3000 GIT_COMMIT=$GIT_COMMIT
# A volume mounted here inherits the owner of this folder.
RUN mkdir /media && chown node:node /media
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
USER node
EXPOSE 3000
# No HEALTHCHECK, as it would apply to all processes. Check the web process at /api/health/ and the worker at /health of
# METRICS_PORT, as compose.yaml does.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["node", "--no-allocation-site-pretenuring", "--no-parallel-scavenge", "--v8-pool-size=1", "--max-semi-space-size=8", "--max-old-space-size=160", "dist/api/main.js"]
