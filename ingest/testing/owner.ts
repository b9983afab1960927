import type { Bus } from '../../infra/bus/bus.ts';
import { sessionIdOf } from '../event.ts';
import {
  decodeSessionQuestions,
  encodeSessionAnswers,
  encodeSessionsUnavailable,
  type SessionAnswer,
  type SessionQuestion,
  sessionLookupSubjectOf,
  sessionLookupVersionOf,
} from '../session-lookup.ts';

/** A minimal owner of lanes, which answers session look-ups as a test wants. */
export interface TestOwner {
  /** Every question so far, in order. */
  readonly questions: SessionQuestion[];
  /** Questions per message so far. */
  readonly groups: number[];
  /** The answer to each question; by default a granted session. */
  answer: (question: SessionQuestion) => SessionAnswer;
  stop(): void;
}

export function startOwner(bus: Bus, lanes: number): TestOwner {
  const stops: (() => void)[] = [];
  const owner: TestOwner = {
    questions: [],
    groups: [],
    answer: ({ projectId, deviceId, occurredAtMs }) => ({
      kind: 'granted',
      sessionId: sessionIdOf(projectId, deviceId, occurredAtMs, occurredAtMs),
      firstMs: occurredAtMs,
      lastMs: occurredAtMs,
    }),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
  for (let lane = 0; lane < lanes; lane += 1) {
    const stop = bus.answer(sessionLookupSubjectOf(lane), {
      reply: (bytes) => {
        const questions = decodeSessionQuestions(bytes);
        owner.questions.push(...questions);
        owner.groups.push(questions.length);
        const answers = questions.map((question) => owner.answer(question));
        return encodeSessionAnswers(answers, sessionLookupVersionOf(bytes));
      },
      unavailable: encodeSessionsUnavailable,
    });
    stops.push(stop);
  }
  return owner;
}
