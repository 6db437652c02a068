import type { ModelProtocolOptions } from '../model-api/index.ts'
import { bodyBytes, modelApi, readModelOptions } from '../model-api/index.ts'
import type { Protocol } from '../protocol.ts'
import { chatRoutes } from './chat.ts'
import { errorResponse } from './errors.ts'
import { answerHeaders } from './headers.ts'
import { modelRoutes } from './models.ts'
import { responseRoutes } from './responses.ts'

/** The agents as models of OpenAI's API, for its SDKs and everything that takes a base URL. */
export function openaiApi(options: ModelProtocolOptions = {}): Protocol {
  const { path, ...more } = readModelOptions(options, 'openaiApi')
  return {
    name: `openai ${path}`,
    mount(host) {
      const api = modelApi(host, more)
      const shared = { path, bodyBytes }
      return {
        routes: [
          ...chatRoutes(api, shared),
          ...responseRoutes(api, shared),
          ...modelRoutes({
            path,
            agents: host.agents,
            agentOf: api.agentOf,
            headers: (context) => answerHeaders(context)(),
          }),
        ],
        prefixes: ['chat', 'responses', 'conversations', 'models'].map((name) => `${path}/${name}`),
        error: errorResponse,
        close: async () => api.close(),
      }
    },
  }
}
