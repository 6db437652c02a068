import { describeClient } from './scenarios.test-kit.ts'

describeClient('useChat over a WebSocket', { page: 'use-chat', query: 'socket' })
