(** * Bounded range: what each of c rounds may spend

    [bounded_range eps mu nu] (exponential_mechanism.v): all log-ratios lie in one interval of length eps.

    - [rounds step n h]: n adaptive rounds after the history h; the outcome is the list of their draws.

    Exported:
    - [bounded_range_moment]: eps-bounded-range laws of mass one have a moment of order alpha of at most
      e^(alpha (alpha - 1) eps^2 / 8), for every rational alpha >= 1: they are (eps^2/8)-zCDP.
    - [bounded_range_rounds_are_private]: c adaptive rounds, each e-bounded-range, are (eps, delta)-private if
      (c e^2 / 8) alpha + [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1) <= eps
      for some rational alpha > 1. (The code takes one rational alpha.)

    The moment is bounded without derivatives. Let S(s) = sum of nu (mu/nu)^s; S(0) = S(1) = 1. For a step h,
    S(s + h) S(s - h) <= e^(h^2 eps^2 / 4) S(s)^2, by Kantorovich's inequality and cosh x <= e^(x^2 / 2): so
    ln S(s) - s^2 eps^2 / 8 is concave on every lattice, and its chord from 0 to 1 lies above it at alpha. *)

From mathcomp Require Import finmap.
From mathcomp.analysis Require Import nsatz_realtype.
From Sparsegate Require Import prelude privacy sums approximate exponential_mechanism race exponential_bounds renyi.
Local Open Scope ring_scope.

Section Concave.
Context {R : realType}.

(** A concave sequence from 0 falls behind its chords. *)
Lemma concave_chord (l : nat -> R) : l 0%N = 0 -> (forall j, l j.+2 + l j <= 2 * l j.+1) ->
  forall N n, (0 < N <= n)%N -> N%:R * l n <= n%:R * l N.
Proof.
move=> l0 conc; pose d j := l j.+1 - l j.
have slope j : j%:R * d j <= l j.
  elim: j => [|j IH]; first by rewrite mul0r l0.
  have falls : d j.+1 <= d j.
    by rewrite /d ler_subl_addr -addrA [- _ + _]addrC addrA ler_subr_addr -mulr2n -mulr_natl.
  apply: (@le_trans _ _ (j.+1%:R * d j)); first by rewrite ler_wpmul2l ?ler0n.
  by rewrite -natr1 mulrDl mul1r -[leRHS](subrK (l j)) addrC -/(d j) ler_add2l.
move=> N n /andP[N_gt0 le]; rewrite -(subnK le) addnC; elim: (n - N)%N => [|k IH]; first by rewrite addn0.
rewrite addnS; set j := (N + k)%N in IH *; have j_gt0 : (0 : R) < j%:R by rewrite ltr0n addn_gt0 N_gt0.
have step : j%:R * l j.+1 <= j.+1%:R * l j.
  by rewrite -[l j.+1](subrK (l j)) -/(d j) mulrDr -[j.+1%:R]nat1r mulrDl mul1r ler_add2r.
rewrite -(ler_pmul2l j_gt0); apply: (@le_trans _ _ (N%:R * (j.+1%:R * l j))).
  by rewrite mulrCA ler_wpmul2l ?ler0n.
by rewrite mulrCA [leRHS]mulrCA ler_wpmul2l ?ler0n.
Qed.

Lemma am_gm (u v : R) : 4 * (u * v) <= (u + v) ^+ 2.
Proof. by rewrite mulr_natl -subr_sqrDB ler_subl_addr ler_addl sqr_ge0. Qed.

Lemma sqr_le (y z : R) : 0 <= y -> y <= z -> y ^+ 2 <= z ^+ 2.
Proof. by move=> y_ge0 le; rewrite ler_sqr ?nnegrE // (le_trans y_ge0). Qed.

Lemma square_eq (y z : R) : z * y ^+ 2 + y * - z = y * (y - 1) * z.
Proof. by rewrite expr2; nsatz. Qed.

(** The step of Kantorovich's inequality, and the one from s - h, s, s + h to a concave sequence. *)
Lemma kantorovich_eq (n E Y m M : R) :
  (m + M) * (n * (E * Y)) - (n * (E * Y * Y) + m * M * (n * E)) = n * E * ((Y - m) * (M - Y)).
Proof. by nsatz. Qed.

Lemma second_difference (a b k c u h : R) : a + b <= h ^+ 2 * (c + c) + (k + k) ->
  a - c * (u + h) ^+ 2 + (b - c * (u - h) ^+ 2) <= 2 * (k - c * u ^+ 2).
Proof.
have sum : (u + h) ^+ 2 + (u - h) ^+ 2 = (u ^+ 2 + u ^+ 2) + (h ^+ 2 + h ^+ 2).
  by rewrite sqrrD sqrrB [LHS]addrACA; congr (_ + _); rewrite addrACA subrr addr0.
move=> le; rewrite addrACA -opprD -mulrDr sum mulrDr opprD addrA addrAC.
rewrite mulr_natl mulr2n [leRHS]addrACA -opprD -mulrDr ler_add2r ler_subl_addl (le_trans le) //.
by rewrite mulrC mulrDl -mulrDr.
Qed.

Lemma log_le (a b k K : R) : 0 < a -> 0 < b -> 0 < k -> a * b <= expR K * k ^+ 2 ->
  ln a + ln b <= K + (ln k + ln k).
Proof.
move=> a0 b0 k0 le; rewrite -lnM ?posrE // -lnM ?posrE // -[X in X + _]expK -lnM ?posrE ?mulr_gt0 ?expR_gt0 //.
by rewrite ler_ln ?posrE ?mulr_gt0 ?expR_gt0.
Qed.

End Concave.

Section Range.
Context {R : realType} {T : choiceType}.

Section Round.
Variables (eps : R) (mu nu : {distr T / R}).
Hypotheses (mu1 : psum mu = 1) (nu1 : psum nu = 1) (range : bounded_range eps mu nu).

Let L x := ln (mu x / nu x).
Let S s := psum (fun x => nu x * expR (s * L x)).

Lemma bounded_range_support x : (mu x == 0) = (nu x == 0).
Proof.
case: range => t h; case/andP: (h x) => lo hi; apply/eqP/eqP => zero.
  by apply/eqP; rewrite eq_le ge0_mu andbT -(ler_pmul2l (expR_gt0 t)) mulr0 -zero.
by apply/eqP; rewrite eq_le ge0_mu andbT (le_trans hi) // zero mulr0.
Qed.

Lemma log_ratio_range : exists t, forall x, nu x != 0 -> t <= L x <= t + eps.
Proof.
case: range => t h; exists t => x nu0; case/andP: (h x) => lo hi.
have mu_gt0 : 0 < mu x by rewrite lt0r bounded_range_support nu0 /=.
have nu_gt0 : 0 < nu x by rewrite lt0r nu0 /=.
rewrite -ler_expR -[L x <= _]ler_expR lnK ?posrE ?divr_gt0 //.
by rewrite ler_pdivl_mulr // lo ler_pdivr_mulr.
Qed.

Lemma summable_moment s : 0 <= s -> summable (fun x => nu x * expR (s * L x)).
Proof.
move=> s_ge0; have [t L_range] := log_ratio_range.
apply: (@le_summable _ _ _ (fun x => expR (s * (t + eps)) * nu x)); last exact: summableZ.
move=> x; rewrite mulr_ge0 ?expR_ge0 //= mulrC.
have [->|nu0] := eqVneq (nu x) 0; first by rewrite !mulr0.
by rewrite ler_wpmul2r // ler_expR ler_wpmul2l //; case/andP: (L_range x nu0).
Qed.

Lemma S_gt0 s : 0 <= s -> 0 < S s.
Proof.
move=> s_ge0; have [x x0] : exists x, nu x <> 0 by apply: neq0_psum; rewrite nu1; apply/eqP/oner_neq0.
apply: lt_le_trans (ger1_psum x (summable_moment s_ge0)).
by rewrite normr_gt0; apply: mulf_neq0; [apply/eqP | rewrite gt_eqF ?expR_gt0].
Qed.

(** Kantorovich: for Y = e^(h L) between m and M, Y + m M / Y <= m + M; summed with the weights
    nu e^(s L), and the mean inequality. *)
Lemma S_second_difference s h : 0 <= h <= s ->
  S (s + h) * S (s - h) <= expR (h ^+ 2 * eps ^+ 2 / 4) * S s ^+ 2.
Proof.
move=> /andP[h_ge0 h_le]; have s_ge0 := le_trans h_ge0 h_le; have [t L_range] := log_ratio_range.
pose m := expR (h * t); pose M := expR (h * (t + eps)).
have sum_le : S (s + h) + m * M * S (s - h) <= (m + M) * S s.
  rewrite /S -!psumZ ?mulr_ge0 ?addr_ge0 ?expR_ge0 // -psumD; first last.
  - by apply: summableZ; apply: summable_moment; rewrite subr_ge0.
  - by apply: summable_moment; rewrite addr_ge0.
  - by move=> x /=; rewrite !mulr_ge0 ?expR_ge0.
  - by move=> x; rewrite mulr_ge0 ?expR_ge0.
  apply: le_psum; last by apply: summableZ; apply: summable_moment.
  move=> x /=; rewrite addr_ge0 ?mulr_ge0 ?expR_ge0 //=.
  have [->|nu0] := eqVneq (nu x) 0; first by rewrite !(mul0r, mulr0) addr0.
  pose Y := expR (h * L x); pose E := expR ((s - h) * L x).
  have -> : expR (s * L x) = E * Y by rewrite -expRD -mulrDl subrK.
  have -> : expR ((s + h) * L x) = E * Y * Y.
    have -> : (s + h) * L x = (s - h) * L x + h * L x + h * L x by rewrite -!mulrDl subrK.
    by rewrite !expRD.
  rewrite -subr_ge0 kantorovich_eq.
  have /andP[lo hi] := L_range x nu0.
  by rewrite !mulr_ge0 ?expR_ge0 // subr_ge0 ler_expR ler_wpmul2l.
have m_gt0 : 0 < m by apply: expR_gt0.
have M_gt0 : 0 < M by apply: expR_gt0.
have mM_le : (m + M) ^+ 2 <= 4 * (m * M) * expR (h ^+ 2 * eps ^+ 2 / 4).
  pose w := eps / 2; have eps_eq : eps = w + w by rewrite -splitr.
  pose z := h * w; pose g := expR (h * (t + w)).
  have m_eq : m = g * expR (- z) by rewrite -expRD; congr expR; rewrite mulrDr addrK.
  have M_eq : M = g * expR z by rewrite -expRD; congr expR; rewrite /z -mulrDr eps_eq addrA.
  have -> : expR (h ^+ 2 * eps ^+ 2 / 4) = expR (z ^+ 2 / 2) ^+ 2.
    rewrite -expRMm [2%:R * _]mulrCA divff ?pnatr_eq0 // mulr1 -exprMn; congr expR.
    have -> : h * eps = z * 2 by rewrite /z -mulrA mulfVK ?pnatr_eq0.
    by rewrite exprMn -natrX mulfK ?pnatr_eq0.
  have -> : 4 * (m * M) = (2 * g) ^+ 2.
    rewrite m_eq M_eq mulrACA [expR (- z) * _]mulrC expRxMexpNx_1 mulr1 exprMn -natrX; congr (_ * _).
  rewrite -exprMn ler_sqr ?nnegrE ?addr_ge0 ?mulr_ge0 ?expR_ge0 ?ler0n //.
  have -> : m + M = g * (expR z + expR (- z)) by rewrite m_eq M_eq -mulrDr addrC.
  by rewrite [2 * g]mulrC -mulrA ler_wpmul2l ?expR_ge0 // cosh_le.
have mM_gt0 : 0 < 4 * (m * M) by rewrite !mulr_gt0 ?ltr0n.
rewrite -(ler_pmul2l mM_gt0); apply: le_trans (_ : (m + M) ^+ 2 * S s ^+ 2 <= _); last first.
  by rewrite [leRHS]mulrA; apply: ler_wpmul2r; rewrite ?sqr_ge0.
rewrite -exprMn; apply: (@le_trans _ _ ((S (s + h) + m * M * S (s - h)) ^+ 2)).
  apply: le_trans (am_gm _ _); rewrite le_eqVlt; apply/orP; left; apply/eqP.
  by rewrite -[LHS]mulrA; congr (_ * _); apply: mulrCA.
have pos u : 0 <= u -> 0 <= S u by move/S_gt0/ltW.
have m_ge0 := ltW m_gt0; have M_ge0 := ltW M_gt0.
have p1 : 0 <= S (s + h) by apply: pos; apply: addr_ge0.
have p2 : 0 <= S (s - h) by apply: pos; rewrite subr_ge0.
apply: (sqr_le _ sum_le); apply: (addr_ge0 p1); apply: (mulr_ge0 _ p2); exact: (mulr_ge0 m_ge0 M_ge0).
Qed.

Lemma S0 : S 0 = 1.
Proof. by rewrite -nu1; apply: eq_psum => x; rewrite mul0r expR0 mulr1. Qed.

Lemma S1 : S 1 = 1.
Proof. by rewrite -[RHS]mu1; apply: eq_psum => x; rewrite mul1r ratioE // bounded_range_support. Qed.

Theorem bounded_range_moment (num den : nat) : (0 < den <= num)%N ->
  let alpha := num%:R / den%:R in
  moment_within alpha (expR (alpha * (alpha - 1) * eps ^+ 2 / 8)) mu nu.
Proof.
move=> order alpha; have /andP[den_gt0 _] := order.
have den_pos : (0 : R) < den%:R by rewrite ltr0n.
have alpha_ge0 : 0 <= alpha by rewrite divr_ge0 ?ler0n.
split; [exact: bounded_range_support | exact: summable_moment |].
change (S alpha <= expR (alpha * (alpha - 1) * eps ^+ 2 / 8)).
pose c0 := eps ^+ 2 / 8; pose l j := ln (S (j%:R / den%:R)) - c0 * (j%:R / den%:R) ^+ 2.
have c0_twice : eps ^+ 2 / 4 = c0 + c0.
  have eight : (8 : R) = 4 * 2 by rewrite -natrM.
  by rewrite /c0 -mulrDr; congr (_ * _); rewrite eight invfM -splitr.
have l0 : l 0%N = 0 by rewrite /l mul0r S0 ln1 expr0n mulr0 subr0.
have conc j : l j.+2 + l j <= 2 * l j.+1.
  pose h : R := den%:R^-1; pose u : R := j.+1%:R / den%:R.
  have h_ge0 : 0 <= h by rewrite invr_ge0 ltW.
  have e1 : j.+2%:R / den%:R = u + h by rewrite -natr1 mulrDl mul1r.
  have e0 : j%:R / den%:R = u - h by rewrite /u -natr1 mulrDl mul1r addrK.
  have h_le : h <= u by rewrite -[h]mul1r ler_wpmul2r // ler1n.
  rewrite /l e1 e0 -/u; have hh : 0 <= h <= u by rewrite h_ge0.
  have S_pos v : 0 <= v -> 0 < S v by exact: S_gt0.
  have p1 : 0 < S (u + h) by apply: S_pos; rewrite addr_ge0 // (le_trans h_ge0).
  have p2 : 0 < S (u - h) by apply: S_pos; rewrite subr_ge0.
  have p3 : 0 < S u by apply: S_pos; rewrite (le_trans h_ge0).
  have := log_le p1 p2 p3 (S_second_difference hh); rewrite -[h ^+ 2 * _ / _]mulrA c0_twice.
  exact: second_difference.
have := concave_chord l0 conc order; rewrite /l divff ?gt_eqF // S1 ln1 expr1n mulr1 sub0r -/alpha.
have num_eq : num%:R = den%:R * alpha :> R by rewrite mulrC mulfVK ?gt_eqF.
rewrite [X in _ <= X * _]num_eq -[leRHS]mulrA ler_pmul2l // ler_subl_addl => le.
rewrite -[leLHS](@lnK R) ?posrE ?S_gt0 // ler_expR; apply: le_trans le _.
have -> : alpha * (alpha - 1) * eps ^+ 2 / 8 = alpha * (alpha - 1) * c0 by rewrite /c0 [RHS]mulrA.
by rewrite square_eq.
Qed.

End Round.

End Range.

Section Rounds.
Context {R : realType} {X : choiceType}.
Implicit Types (step f g : seq X -> {distr X / R}) (e eps delta : R).

Fixpoint rounds step n h : {distr (seq X) / R} :=
  if n is n'.+1 then prefixed (step h) (fun x => rounds step n' (rcons h x)) else dunit [::].

Lemma rounds_sum_to_one step n h : (forall h, psum (step h) = 1) -> psum (rounds step n h) = 1.
Proof.
move=> one; rewrite -pr_predT; elim: n h => [|n IH] h /=; first by rewrite pr_dunit.
rewrite pr_prefixed -[RHS](one h); apply: eq_psum => x; by rewrite IH mulr1.
Qed.

Lemma rounds_moment f g e (num den : nat) n h : (0 < den <= num)%N ->
  (forall h, psum (f h) = 1) -> (forall h, psum (g h) = 1) -> (forall h, bounded_range e (f h) (g h)) ->
  let alpha := num%:R / den%:R in
  moment_within alpha (expR (alpha * (alpha - 1) * e ^+ 2 / 8) ^+ n) (rounds f n h) (rounds g n h).
Proof.
move=> order f1 g1 range alpha; elim: n h => [|n IH] h /=; first by rewrite expr0; apply: moment_refl.
rewrite exprS; apply: moments_multiply => [||x]; last exact: IH.
  by rewrite exprn_ge0 // expR_ge0.
exact: bounded_range_moment.
Qed.

(** The price of a moment e^(alpha (alpha - 1) e^2 / 8) for each of c rounds. *)
Lemma rounds_price (Y : choiceType) (mu nu : {distr Y / R}) e eps delta (num den c : nat) :
  (0 < den < num)%N -> 0 < delta -> let alpha := num%:R / den%:R in
  moment_within alpha (expR (alpha * (alpha - 1) * e ^+ 2 / 8) ^+ c) mu nu ->
  c%:R * e ^+ 2 / 8 * alpha + (ln (delta^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  within_delta eps delta mu nu.
Proof.
move=> /andP[den_gt0 lt] delta_gt0 alpha small price.
have alpha_gt1 : 1 < alpha by rewrite ltr_pdivl_mulr ?ltr0n // mul1r ltr_nat.
apply: (moment_is_private alpha_gt1 delta_gt0 small) price.
rewrite -expRMm ler_expR le_eqVlt; apply/orP; left; apply/eqP.
have arith (y n s k : R) : n * (y * (y - 1) * s * k) = (y - 1) * (n * s * k * y) by nsatz.
exact: arith.
Qed.

Theorem bounded_range_rounds_are_private f g e eps delta (num den c : nat) : (0 < den < num)%N ->
  (forall h, psum (f h) = 1) -> (forall h, psum (g h) = 1) -> (forall h, bounded_range e (f h) (g h)) ->
  0 < delta -> let alpha := num%:R / den%:R in
  c%:R * e ^+ 2 / 8 * alpha + (ln (delta^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  within_delta eps delta (rounds f c [::]) (rounds g c [::]).
Proof.
move=> order f1 g1 range delta_gt0 alpha price; have /andP[den_gt0 lt] := order.
by apply: rounds_price price => //; apply: rounds_moment => //; rewrite den_gt0 ltnW.
Qed.

End Rounds.
