import { describeClient } from './scenarios.test-kit.ts'

describeClient('assistant-ui', { page: 'assistant-ui' })
