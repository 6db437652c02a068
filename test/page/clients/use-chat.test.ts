import { describeClient } from './scenarios.test-kit.ts'

describeClient('useChat over HTTP', { page: 'use-chat' })
