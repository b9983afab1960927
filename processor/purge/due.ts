/** Something to remove, and the team that requested it. */
export interface Due {
  readonly key: string;
  readonly teamId: string;
  /** ISO 8601. */
  readonly askedAt: string;
}

/**
 * Decides the order of due work: the team with the fewest turns in this pass is next, its oldest request first. So a team that erases
 * thousands of people delays another one by a single batch.
 */
export class DueTurns {
  readonly #turnsByTeam = new Map<string, number>();
  readonly #had = new Set<string>();

  /** True if anything is due that had no turn. */
  isAny(due: readonly Due[]): boolean {
    return due.some(({ key }) => !this.#had.has(key));
  }

  /** Up to `max` next ones. None gets a second turn in this pass, whatever happened to the first. */
  next<One extends Due>(due: readonly One[], max: number): readonly One[] {
    const byTeam = new Map<string, One[]>();
    for (const one of due) {
      if (this.#had.has(one.key)) continue;
      const ofTeam = byTeam.get(one.teamId) ?? [];
      byTeam.set(one.teamId, ofTeam);
      ofTeam.push(one);
    }
    // The last one is the oldest, and is taken.
    for (const ofTeam of byTeam.values())
      ofTeam.sort((a, b) =>
        a.askedAt === b.askedAt ? (a.key < b.key ? 1 : -1) : a.askedAt < b.askedAt ? 1 : -1,
      );
    const taken: One[] = [];
    while (taken.length < max) {
      const team = [...byTeam].filter(([, ofTeam]) => ofTeam.length > 0);
      const [first] = team.sort(([a], [b]) => this.#turnsOf(a) - this.#turnsOf(b));
      const one = first?.[1].pop();
      if (one === undefined) break;
      this.#had.add(one.key);
      this.#turnsByTeam.set(one.teamId, this.#turnsOf(one.teamId) + 1);
      taken.push(one);
    }
    return taken;
  }

  #turnsOf(team: string): number {
    return this.#turnsByTeam.get(team) ?? 0;
  }
}
